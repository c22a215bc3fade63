"""The addresses of search and of files to take away."""

from django.urls import path

from sessions import searchviews

urlpatterns = [
    path("search", searchviews.search, name="search"),
    path("search/waiting", searchviews.still_waiting, name="search_waiting"),
]
