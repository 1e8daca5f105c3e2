/*
 * Time zones of the system's tz database. glibc keeps one zone a process, so each zone is tried in
 * its own child; that is also how the programs use it.
 */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/timestamp.h"
#include "base/zone.h"
#include "tests/unit/fixture/rows.h"

#define DATABASE "/usr/share/zoneinfo/Asia/Shanghai"

static void skip_without_database(void) {
        if (access(DATABASE, R_OK) == 0)
                return;
        print_message("SKIPPED: no tz database (%s): install tzdata\n", DATABASE);
        skip();
}

TEST(utc) {
        /* Any address will do to see that it is set. */
        const struct zone *zone = (const struct zone *)&zone;
        struct error err = ERROR_NULL;

        assert_int_equal(zone_load("UTC", &zone, &err), 0);
        assert_null(zone);
        assert_true(zone_local_from_utc(NULL, 1784805954120) == 1784805954120);
        assert_true(zone_utc_from_local(NULL, 1784805954120) == 1784805954120);
}

static void show(const char *text, size_t len, struct buf *out) {
        const struct zone *zone = NULL;
        struct error err = ERROR_NULL;

        int r = zone_load(text, &zone, &err);
        assert_int_equal(r, err.code);
        assert_null(zone);
        buf_puts(out, err.msg);
}

TEST(bad_names) {
        rows_check("bad-zones.tsv", show);
}

/* Readable in the database, but no zone: glibc would silently take UTC. */
TEST(not_a_zone) {
        static const char *const names[] = {"Asia", "leapseconds"};
        const struct zone *zone = NULL;

        skip_without_database();
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                struct error err = ERROR_NULL;
                int r = zone_load(names[i], &zone, &err);
                if (r != -ENOENT || zone)
                        fail_msg("'%s' gave %d", names[i], r);
        }
}

static int64_t parse(const char *text) {
        int64_t at_unix_ms = 0;

        if (!timestamp_parse(text, strlen(text), &at_unix_ms))
                _exit(9);
        return at_unix_ms;
}

static const struct {
        const char *zone, *utc, *local;
        const char *back; /* NULL: to the same; else the local time stands for two instants */
} rows[] = {
        {"Asia/Shanghai", "2026-07-23T11:25:54.120Z", "2026-07-23T19:25:54.120Z"},
        {"Asia/Shanghai", "2026-12-31T20:00:00Z", "2027-01-01T04:00:00Z"},
        {"Asia/Shanghai", "1970-01-01T00:00:00Z", "1970-01-01T08:00:00Z"},
        {"Europe/Berlin", "2026-01-15T12:00:00Z", "2026-01-15T13:00:00Z"},
        {"Europe/Berlin", "2026-07-15T12:00:00Z", "2026-07-15T14:00:00Z"},
        {"Europe/Berlin", "2026-03-29T00:59:59Z", "2026-03-29T01:59:59Z"},
        {"Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29T03:00:00Z"},
        /* Clocks went back at 01:00 UTC: 02:30 came twice. Go's ParseInLocation takes the same. */
        {"Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T02:30:00Z", "2026-10-25T01:30:00Z"},
        {"Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"},
        {"Europe/Berlin", "2026-10-25T02:30:00Z", "2026-10-25T03:30:00Z"},
        {"Asia/Kathmandu", "2026-07-23T00:00:00Z", "2026-07-23T05:45:00Z"},
        {"America/St_Johns", "2026-01-23T00:00:00Z", "2026-01-22T20:30:00Z"},
};

/* In a child. Return: whether the row is right. */
static bool is_right(size_t row) {
        struct error err = ERROR_NULL;
        const struct zone *zone = NULL;

        if (zone_load(rows[row].zone, &zone, &err) < 0 || !zone)
                return false;
        int64_t utc_ms = parse(rows[row].utc), local_ms = parse(rows[row].local);
        int64_t back_ms = rows[row].back ? parse(rows[row].back) : utc_ms;
        return zone_local_from_utc(zone, utc_ms) == local_ms &&
               zone_utc_from_local(zone, local_ms) == back_ms;
}

TEST(there_and_back) {
        skip_without_database();
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                int status = 0;
                pid_t child = fork();
                assert_true(child >= 0);
                if (child == 0)
                        _exit(is_right(i) ? 0 : 1);
                assert_int_equal(waitpid(child, &status, 0), child);
                if (status != 0)
                        fail_msg("%s: wrong at %s", rows[i].zone, rows[i].utc);
        }
}
