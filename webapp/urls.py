"""Every address: the apps' own, the API, the door."""

from django.urls import include, path

from webapp import people_page, views, workspace_page
from webapp.api import api
from webapp.otlp import otlp

urlpatterns = [
    path("sign-in", views.sign_in, name="sign-in"),
    path("sign-in/<str:secret>", views.sign_in_by_link, name="sign-in-link"),
    path("sign-out", views.sign_out, name="sign-out"),
    path("healthz", views.health, name="health"),
    path("settings", workspace_page.settings, name="settings"),
    path("settings/people", people_page.people, name="people"),
    path("i18n/", include("django.conf.urls.i18n")),
    path("api/", api.urls),
    path("v1/", otlp.urls),
    path("", include("compaction.urls")),
    path("", include("sessions.urls")),
]

handler400 = "webapp.views.bad_request"
handler403 = "webapp.views.forbidden"
handler404 = "webapp.views.not_found"
handler500 = "webapp.views.failed"
