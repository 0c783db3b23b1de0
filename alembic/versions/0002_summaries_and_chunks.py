"""Summaries and chunks, with their versions.

Revision ID: 0002
Revises: 0001
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def _of_task(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["task_id"], ["task.task_id"], name=op.f(f"fk_{table}_task_id"), ondelete="CASCADE"
    )


def upgrade() -> None:
    op.create_table(
        "step_summary",
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("step_number", sa.Integer(), nullable=False),
        sa.Column("step_id", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("refusals", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        _of_task("step_summary"),
        sa.PrimaryKeyConstraint("task_id", "step_number", name=op.f("pk_step_summary")),
    )
    op.create_index("ix_step_summary_status", "step_summary", ["status"], unique=False)
    op.create_table(
        "summary_version",
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("step_number", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        _of_task("summary_version"),
        sa.PrimaryKeyConstraint(
            "task_id", "step_number", "version", name=op.f("pk_summary_version")
        ),
    )
    op.create_table(
        "chunk",
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("start_step", sa.Integer(), nullable=False),
        sa.Column("end_step", sa.Integer(), nullable=False),
        sa.Column("chunk_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("chunk", sa.Text(), nullable=False),
        _of_task("chunk"),
        sa.PrimaryKeyConstraint("task_id", "start_step", name=op.f("pk_chunk")),
    )
    op.create_index("ix_chunk_state", "chunk", ["state"], unique=False)
    op.create_table(
        "chunk_version",
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("start_step", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("chunk", sa.Text(), nullable=False),
        _of_task("chunk_version"),
        sa.PrimaryKeyConstraint("task_id", "start_step", "version", name=op.f("pk_chunk_version")),
    )


def downgrade() -> None:
    for table in ("chunk_version", "chunk", "summary_version", "step_summary"):
        op.drop_table(table)
