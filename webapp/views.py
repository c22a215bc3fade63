"""The pages that belong to no app: signing in and out, and what is shown when something is wrong."""

import sys

from django.contrib import messages
from django.contrib.auth import login, logout
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template import loader
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from webapp.auth import redeem_link

sign_in = LoginView.as_view(redirect_authenticated_user=True)


@login_not_required
@never_cache
@require_GET
def sign_in_by_link(request: HttpRequest, secret: str) -> HttpResponse:
    """Use up a one-time link. A link that no longer opens says so, and what to do."""
    user = redeem_link(secret)
    if user is None:
        if request.user.is_authenticated:
            return redirect("/")
        messages.error(
            request,
            _(
                "This sign-in link was used already or is too old. An admin of the workspace can make a fresh one; on this machine"
                " `manage.py up` prints one."
            ),
        )
        return redirect("sign-in")
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    return redirect("/")


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("sign-in")


@login_not_required
@require_GET
def health(request: HttpRequest) -> HttpResponse:
    """Answer whether this process serves. Asks nothing of the database, so that a dead one is not a dead process."""
    return HttpResponse("ok\n", content_type="text/plain")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if is_program(request):
        return in_json(404, "not_found", "There is nothing at this address; /api/docs lists what there is.")
    return render(request, "404.html", status=404)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer for a request that Django itself cannot read: a form or a body too large, or in no form it knows."""
    large = isinstance(exception, RequestDataTooBig | TooManyFieldsSent | TooManyFilesSent)
    status = 413 if large else 400
    if is_program(request):
        if large:
            return in_json(413, "too_large", "The request is larger than is read here; nothing was changed.")
        return in_json(400, "not_understood", "The request cannot be read; nothing was changed.")
    return render(request, "400.html", {"large": large}, status=status)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return render(request, "403.html", status=403)


def failed(request: HttpRequest) -> HttpResponse:
    """Answer for an unexpected error; a database out of reach is told apart, because waiting helps there.

    Rendered without the request's context: whoever is signed in is a question to the database too.
    """
    # Django calls this while the exception is being handled, in the thread that sees it.

    outage = is_outage(sys.exception())
    if is_program(request):
        if outage:
            return in_json(503, "database_unreachable", "The database did not answer; nothing was changed. Try again.")
        return in_json(500, "failed", "Something failed here, and the request was not carried out; the log has more.")
    if outage:
        return HttpResponse(loader.render_to_string("503.html"), status=503, headers={"Retry-After": "5"})
    return HttpResponse(loader.render_to_string("500.html"), status=500)


def is_program(request: HttpRequest) -> bool:
    """Say whether the request was for the API, which answers in JSON whatever happens."""
    return request.path.startswith("/api/")


def in_json(status: int, code: str, message: str) -> HttpResponse:
    return JsonResponse({"error": {"code": code, "message": message}}, status=status)


def is_outage(error: BaseException | None) -> bool:
    """Say whether the error means that the database cannot be reached (rather than that it refused something)."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    # An answer from a living server carries an SQLSTATE; class 57P and 08 are its own words for "going away".
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or str(state).startswith(("08", "57P", "53"))
