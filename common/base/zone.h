/*
 * A time zone, for annotations that are shared with crane: it writes local time with a literal Z
 * (--annotation-timezone). NULL is UTC.
 *
 * glibc reads the tz database and has one time zone per process; loading a zone sets TZ. Load at
 * most one, before any thread starts. After that, any thread can use it.
 */
#pragma once

#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"

struct zone;

/**
 * zone_load() - load a zone of the system's tz database by its IANA name
 * @name:     "Asia/Shanghai"; "UTC" gives NULL. A path outside of the database is refused
 * @ret_zone: NULL for UTC; never freed
 * Return: 0; -EINVAL if @name is malformed; -ENOENT if there is no such zone or no tz database
 */
_must_check_ int zone_load(const char *name, const struct zone **ret_zone, struct error *err);

/** zone_local_from_utc() - local time in @zone at @at_unix_ms, as if it were UTC */
int64_t zone_local_from_utc(const struct zone *zone, int64_t at_unix_ms);
/**
 * zone_utc_from_local() - the inverse, like Go's time.ParseInLocation: in a gap or overlap, the
 * offset is one of the two around it
 */
int64_t zone_utc_from_local(const struct zone *zone, int64_t local_ms);
