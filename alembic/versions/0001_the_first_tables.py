"""The first tables.

Revision ID: 0001
Revises:
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "artifact",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_artifact")),
    )
    op.create_table(
        "device",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("platform", sa.Text(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("configured", sa.Boolean(), nullable=False),
        sa.Column("retired", sa.Boolean(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_device")),
    )
    op.create_table(
        "task",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("goal", sa.Text(), nullable=False),
        sa.Column("device", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("answer_data", sa.Text(), nullable=True),
        sa.Column("cited_steps", sa.Text(), nullable=False),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cached_tokens", sa.BigInteger(), nullable=False),
        sa.Column("thinking_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost_usd", sa.Float(), nullable=False),
        sa.Column("unpriced_calls", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("running_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("seconds_spent", sa.Float(), nullable=False),
        sa.Column("last_seq", sa.Integer(), nullable=False),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("pause_requested", sa.Boolean(), nullable=False),
        sa.Column("offline", sa.Boolean(), nullable=False),
        sa.Column("stable_ref", sa.Text(), nullable=True),
        sa.Column("frozen_ref", sa.Text(), nullable=True),
        sa.Column("frozen_through", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("observation", sa.Text(), nullable=True),
        sa.Column("search_entries", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_task")),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_task_idempotency_key")),
        sa.UniqueConstraint("task_id", name=op.f("uq_task_task_id")),
    )
    op.create_index("ix_task_state_device", "task", ["state", "device"], unique=False)
    op.create_index(
        "uq_task_device_active",
        "task",
        ["device"],
        unique=True,
        sqlite_where=sa.text("state IN ('running', 'paused', 'waiting')"),
        postgresql_where=sa.text("state IN ('running', 'paused', 'waiting')"),
    )

    op.create_table(
        "event",
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("step_number", sa.Integer(), nullable=True),
        sa.Column("event", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.task_id"], name=op.f("fk_event_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("task_id", "seq", name=op.f("pk_event")),
    )
    op.create_index("ix_event_task_id_type", "event", ["task_id", "type", "seq"], unique=False)

    op.create_table(
        "instruction",
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("step_number", sa.Integer(), nullable=False),
        sa.Column("receipt_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.task_id"], name=op.f("fk_instruction_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("task_id", "number", name=op.f("pk_instruction")),
    )
    op.create_table(
        "model_call",
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("step_number", sa.Integer(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("offline", sa.Boolean(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("cached_tokens", sa.Integer(), nullable=False),
        sa.Column("thinking_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("cost_usd", sa.Float(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("first_token_seconds", sa.Float(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("fallback", sa.Text(), nullable=False),
        sa.Column("first_of_turn", sa.Boolean(), nullable=False),
        sa.Column("waits", sa.Integer(), nullable=False),
        sa.Column("figures", sa.Text(), nullable=True),
        sa.Column("prompt_ref", sa.Text(), nullable=True),
        sa.Column("reply_ref", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.task_id"], name=op.f("fk_model_call_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("task_id", "seq", name=op.f("pk_model_call")),
    )
    op.create_index(op.f("ix_model_call_call_id"), "model_call", ["call_id"], unique=False)
    op.create_index("ix_model_call_at", "model_call", ["at"], unique=False)
    op.create_index(
        "ix_model_call_task_id_step_number", "model_call", ["task_id", "step_number"], unique=False
    )

    op.create_table(
        "note",
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("place", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("step_number", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.task_id"], name=op.f("fk_note_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("task_id", "key", name=op.f("pk_note")),
    )
    op.create_table(
        "plan_revision",
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("step_number", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.task_id"], name=op.f("fk_plan_revision_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("task_id", "revision", name=op.f("pk_plan_revision")),
    )
    op.create_table(
        "question",
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("question_id", sa.Text(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("step_number", sa.Integer(), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("approved", sa.Boolean(), nullable=True),
        sa.Column("answered_by", sa.Text(), nullable=False),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("answered_place", sa.Integer(), nullable=True),
        sa.Column("answered_step", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.task_id"], name=op.f("fk_question_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("task_id", "question_id", name=op.f("pk_question")),
    )
    op.create_table(
        "remembered",
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("place", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("step_number", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.task_id"], name=op.f("fk_remembered_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("task_id", "key", name=op.f("pk_remembered")),
    )
    op.create_table(
        "required_check",
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("milestone", sa.Integer(), nullable=False),
        sa.Column("closed_by_step", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["task_id"],
            ["task.task_id"],
            name=op.f("fk_required_check_task_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("task_id", "number", name=op.f("pk_required_check")),
    )
    op.create_table(
        "search_entry",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("step_number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("search_text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.task_id"], name=op.f("fk_search_entry_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_search_entry")),
    )
    op.create_index(
        "ix_search_entry_task_id_step_number",
        "search_entry",
        ["task_id", "step_number"],
        unique=False,
    )

    op.create_table(
        "step",
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("step_number", sa.Integer(), nullable=False),
        sa.Column("step_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.Column("verdict_reason", sa.Text(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("offset", sa.Float(), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("plan_revision", sa.Integer(), nullable=False),
        sa.Column("subgoal_hash", sa.Text(), nullable=False),
        sa.Column("action_type", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=True),
        sa.Column("action_text", sa.Text(), nullable=False),
        sa.Column("thinking", sa.Text(), nullable=False),
        sa.Column("native_thinking", sa.Text(), nullable=False),
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("page", sa.Text(), nullable=False),
        sa.Column("observation", sa.Text(), nullable=False),
        sa.Column("after", sa.Text(), nullable=True),
        sa.Column("messages_ref", sa.Text(), nullable=True),
        sa.Column("receipt", sa.Text(), nullable=True),
        sa.Column("diff", sa.Text(), nullable=True),
        sa.Column("recoveries", sa.Text(), nullable=False),
        sa.Column("remembered", sa.Text(), nullable=False),
        sa.Column("notes", sa.Text(), nullable=False),
        sa.Column("tools", sa.Text(), nullable=False),
        sa.Column("world", sa.Text(), nullable=True),
        sa.Column("irreversible", sa.Boolean(), nullable=False),
        sa.Column("approved_by", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.task_id"], name=op.f("fk_step_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("task_id", "step_number", name=op.f("pk_step")),
        sa.UniqueConstraint("step_id", name=op.f("uq_step_step_id")),
    )
    op.create_table(
        "task_artifact",
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["sha256"], ["artifact.sha256"], name=op.f("fk_task_artifact_sha256")
        ),
        sa.ForeignKeyConstraint(
            ["task_id"], ["task.task_id"], name=op.f("fk_task_artifact_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("task_id", "sha256", name=op.f("pk_task_artifact")),
    )
    op.create_index("ix_task_artifact_sha256", "task_artifact", ["sha256"], unique=False)

    create_search_index()


def create_search_index() -> None:
    """The full-text index over one column; its tokens are plain words in ASCII already."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            "CREATE VIRTUAL TABLE search_fts USING fts5("
            "search_text, content='search_entry', content_rowid='id', tokenize='ascii')"
        )
    else:
        op.execute(
            "ALTER TABLE search_entry ADD COLUMN search_vector tsvector"
            " GENERATED ALWAYS AS (to_tsvector('simple', search_text)) STORED"
        )
        op.execute(
            "CREATE INDEX ix_search_entry_search_vector ON search_entry USING gin (search_vector)"
        )


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TABLE search_fts")
    for table in (
        "task_artifact",
        "step",
        "search_entry",
        "required_check",
        "remembered",
        "question",
        "plan_revision",
        "note",
        "model_call",
        "instruction",
        "event",
        "task",
        "device",
        "artifact",
    ):
        op.drop_table(table)
