"""The addresses of search and of files to take away."""

from django.urls import path

from sessions import exportviews, searchviews

urlpatterns = [
    path("search", searchviews.search, name="search"),
    path("search/saved", searchviews.save, name="search_saved"),
    path("search/waiting", searchviews.still_waiting, name="search_waiting"),
    path("s/<str:name>/export", exportviews.choose, name="export"),
    path("s/<str:name>/export/file", exportviews.file, name="export-file"),
]
