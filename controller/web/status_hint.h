/*
 * Which flags to look at when a source fails for a reason. Pure.
 */
#pragma once

/**
 * status_hint() - flags, as a text such as "--scrape-timeout"; constant
 * @source:   the name in struct source_kind
 * @reason:   of the failure, as sources give it
 * @fallback: the source's own hint, for the reasons that no flag here is about
 */
const char *status_hint(const char *source, const char *reason, const char *fallback);
