"""Addresses of the pages of compaction."""

from django.urls import path

from compaction import (
    compare_views,
    edit_views,
    learned_views,
    memory_views,
    rollback_views,
    standing_views,
    touched_views,
    views,
)

app_name = "compaction"

urlpatterns = [
    path("s/<str:name>/compact", views.compact, name="compact"),
    path("s/<str:name>/runs", views.session_runs, name="session_runs"),
    path("s/<str:name>/runs/<int:run_id>", views.run, name="run"),
    path("s/<str:name>/runs/<int:run_id>/draft", views.draft, name="draft"),
    path("s/<str:name>/runs/<int:run_id>/cancel", views.cancel, name="cancel"),
    path("s/<str:name>/compare", compare_views.compare_page, name="compare"),
    path("s/<str:name>/edit", edit_views.edit_page, name="edit"),
    path("s/<str:name>/files", touched_views.touched, name="touched"),
    path("s/<str:name>/files/one", touched_views.one_file, name="touched_file"),
    path("s/<str:name>/rollback", rollback_views.rollback_page, name="rollback"),
    path("s/<str:name>/session-memory", memory_views.session_memory_page, name="session_memory"),
    path("memory", learned_views.project_memory_page, name="project_memory"),
    path("compare", compare_views.compare_any, name="compare_all"),
    path("runs", views.runs_of_all, name="runs"),
    path("runs/standing", standing_views.standing, name="standing"),
]
