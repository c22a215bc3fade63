"""People, workspaces, and the two things that open the door: tokens for programs, one-time links for a browser."""

from typing import ClassVar

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

# SHA-256 in hexadecimal. The secrets hashed are 256 random bits, so a slow hash would protect nothing.
DIGEST_LENGTH = 64


class User(AbstractUser):
    """A person who signs in."""


class Role(models.TextChoices):
    """What a member may do. Each includes the one before it."""

    AUDITOR = "auditor", _("auditor: sees what given-up goals took, without their words")
    VIEWER = "viewer", _("viewer: reads")
    OPERATOR = "operator", _("operator: reads, ingests, compacts")
    ADMIN = "admin", _("admin: also manages members, tokens and settings")

    @property
    def rank(self) -> int:
        return list(Role).index(self)

    def covers(self, other: "Role") -> bool:
        """Say whether a member with this role may do what `other` may."""
        return self.rank >= other.rank


class Workspace(models.Model):
    """What a team shares. Every row that belongs to a team carries its workspace."""

    name = models.CharField(max_length=120)
    slug = models.SlugField(max_length=60, unique=True)
    created_at = models.DateTimeField(db_default=Now())
    members: "models.ManyToManyField[User, Membership]" = models.ManyToManyField(
        User, through="Membership", related_name="workspaces"
    )

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A person's place in a workspace."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.VIEWER)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("id",)
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["workspace", "user"], name="membership_once"),
            models.CheckConstraint(condition=models.Q(role__in=list(Role)), name="membership_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.workspace_id}: {self.role}"

    def may(self, role: Role) -> bool:
        """Say whether this member may do what `role` may."""
        return Role(self.role).covers(role)


class Scope(models.TextChoices):
    """What a token opens. Never more than its owner's role allows."""

    READ = "read", _("read")
    WRITE = "write", _("write")
    ADMIN = "admin", _("admin")


class ApiToken(models.Model):
    """A program's key to one workspace, in the name of one person. Only its hash is kept."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="tokens")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=120)
    scope = models.CharField(max_length=10, choices=Scope, default=Scope.READ)
    digest = models.CharField(max_length=DIGEST_LENGTH, unique=True)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("id",)
        constraints: ClassVar = [
            models.CheckConstraint(condition=models.Q(scope__in=list(Scope)), name="api_token_scope_known"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.scope})"


class SignInLink(models.Model):
    """An address that signs one person in, once. Only its hash is kept."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sign_in_links")
    digest = models.CharField(max_length=DIGEST_LENGTH, unique=True)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"sign-in link for {self.user_id}"
