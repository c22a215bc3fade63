"""The addresses at which a version is given back to an agent."""

from django.urls import path

from sessions import resumeviews

urlpatterns = [
    path("s/<str:name>/resume", resumeviews.resume, name="resume"),
    path("s/<str:name>/resume/file", resumeviews.fetch, name="resume-file"),
    path("s/<str:name>/resume/install", resumeviews.install, name="resume-install"),
]
