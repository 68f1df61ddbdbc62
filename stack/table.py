"""All services of a stack, in starting order."""

from __future__ import annotations

from stack.layout import Stack
from stack.service import Service
from stack.services import agents, directory, door, portal, postgres, redis, slurm


def table(stack: Stack) -> list[Service]:
    ground = [*postgres.services(), *redis.services(), *directory.services(stack), *slurm.services(stack)]
    ground += agents.services(stack)
    return [*ground, *portal.services(stack), *door.services(stack)]
