"""Settings of the tools and plugins."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from goat.settings.section import Names, Section

Count = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0)]


class ToolSettings(Section):
    """What the model may do, and how far one turn goes."""

    rounds: Count = Field(default=6, description="How often a turn calls tools before it has to answer.")
    output_chars: Count = Field(default=60_000, description="How much tool output a turn reads, in characters.")
    result_chars: Count = Field(default=20_000, description="How much of one result is read, in characters.")
    timeout_seconds: Seconds = Field(default=60, description="A tool without a result after this time is stopped.")
    allow: Names = Field(default=(), description="Tools that run without a question.")
    ask: Names = Field(default=(), description="Tools that are asked about at every call.")
    deny: Names = Field(default=(), description="Tools that nobody may use.")
    guests: Names = Field(default=(), description="Tools that people other than the admin may use as well.")
    approval_seconds: Seconds = Field(default=300, description="How long a question about a call stands.")
    workspace: str = Field(
        default="", description="The folder in which file and shell tools work; empty takes `workspace` in the home."
    )
    shell_network: bool = Field(default=False, description="Whether commands in the sandbox reach the network.")
    browser: str = Field(
        default="",
        description="The path of the Chromium that `browse_page` starts; empty takes one on the search path.",
    )
    private_hosts: Names = Field(
        default=(), description="Hosts in the own network that web tools may fetch from, as `host:port`."
    )


class PluginSettings(Section):
    """Tools of your own."""

    paths: Names = Field(default=(), description="Folders with plugins beside `plugins` in the data folder.")
    scan_seconds: Seconds = Field(default=30, description="How often the folders are looked through for changes.")
