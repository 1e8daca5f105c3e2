/*
 * A time zone, for annotations together with crane, which writes local time with a literal Z
 * (--annotation-timezone). NULL is UTC.
 *
 * glibc reads the tz database, and has one time zone per process: loading a zone sets TZ. So load
 * at most one, before threads start. Any thread may use it afterwards.
 */
#pragma once

#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"

struct zone;

/**
 * zone_load() - take a zone of the system's tz database by its IANA name
 * @name: "Asia/Shanghai"; "UTC" gives NULL; a path that leaves the database is refused
 * @ret_zone: NULL for UTC; there is nothing to free
 * Return: 0; -EINVAL not a zone's name; -ENOENT no such zone, or no tz database installed
 */
_must_check_ int zone_load(const char *name, const struct zone **ret_zone, struct error *err);

/** zone_local_from_utc() - local time in @zone at @at_unix_ms, as if it were UTC */
int64_t zone_local_from_utc(const struct zone *zone, int64_t at_unix_ms);
/**
 * zone_utc_from_local() - the inverse, as Go's time.ParseInLocation: in a gap or an overlap the
 * offset in force is one of the two around it
 */
int64_t zone_utc_from_local(const struct zone *zone, int64_t local_ms);
