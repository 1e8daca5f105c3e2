/*
 * Time zones of the system's tz database. glibc keeps one zone a process, so each zone is tried in
 * its own child; that is also how the programs use it.
 */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/timestamp.h"
#include "base/zone.h"

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

TEST(bad_names) {
        static const struct {
                const char *name;
                int code;
        } rows[] = {
                {"", -EINVAL},
                {"/etc/localtime", -EINVAL},
                {"../../../etc/passwd", -EINVAL},
                {"Asia/../UTC", -EINVAL},
                {"Asia/", -EINVAL},
                {"Asia//Shanghai", -EINVAL},
                {":Asia/Shanghai", -EINVAL},
                {"CST-8", -ENOENT}, /* a POSIX rule is no name of the database */
                {"Asia/Shang hai", -EINVAL},
                {"Asia/Shanghai\n", -EINVAL},
                {"Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                 -EINVAL},
                {"Asia/Atlantis", -ENOENT},
        };
        const struct zone *zone = NULL;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct error err = ERROR_NULL;
                int r = zone_load(rows[i].name, &zone, &err);
                if (r != rows[i].code || err.code != r || err.msg[0] == '\0')
                        fail_msg("'%s' gave %d: %s", rows[i].name, r, err.msg);
                assert_null(zone);
        }
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

struct row {
        const char *utc, *local;
        bool is_one_way; /* the local time stands for two instants, or for none */
        const char *back;
};

static int64_t parse(const char *text) {
        int64_t at_unix_ms = 0;

        if (!timestamp_parse(text, strlen(text), &at_unix_ms))
                _exit(9);
        return at_unix_ms;
}

/* In the child: 0, or 1 + the row that is wrong. */
static int check_rows(const char *name, const struct row *rows, size_t count) {
        struct error err = ERROR_NULL;
        const struct zone *zone = NULL;

        if (zone_load(name, &zone, &err) < 0 || !zone)
                return 8;
        int wrong = 0;
        for (size_t i = 0; i < count && wrong == 0; i++) {
                int64_t utc_ms = parse(rows[i].utc), local_ms = parse(rows[i].local);
                int64_t back_ms = rows[i].is_one_way ? parse(rows[i].back) : utc_ms;
                if (zone_local_from_utc(zone, utc_ms) != local_ms ||
                    zone_utc_from_local(zone, local_ms) != back_ms) {
                        (void)fprintf(stderr, "%s: wrong at %s\n", name, rows[i].utc);
                        wrong = 1;
                }
        }
        return wrong;
}

static void check_in_child(const char *name, const struct row *rows, size_t count) {
        int status = 0;
        pid_t child = fork();

        assert_true(child >= 0);
        if (child == 0)
                _exit(check_rows(name, rows, count));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
}

TEST(shanghai) {
        static const struct row rows[] = {
                {.utc = "2026-07-23T11:25:54.120Z", .local = "2026-07-23T19:25:54.120Z"},
                {.utc = "2026-12-31T20:00:00Z", .local = "2027-01-01T04:00:00Z"},
                {.utc = "1970-01-01T00:00:00Z", .local = "1970-01-01T08:00:00Z"},
        };

        skip_without_database();
        check_in_child("Asia/Shanghai", rows, ARRAY_LEN(rows));
}

/* Go's ParseInLocation gives the same "back" for the hours that are doubled. */
TEST(daylight_saving) {
        static const struct row rows[] = {
                {.utc = "2026-01-15T12:00:00Z", .local = "2026-01-15T13:00:00Z"},
                {.utc = "2026-07-15T12:00:00Z", .local = "2026-07-15T14:00:00Z"},
                {.utc = "2026-03-29T00:59:59Z", .local = "2026-03-29T01:59:59Z"},
                {.utc = "2026-03-29T01:00:00Z", .local = "2026-03-29T03:00:00Z"},
                /* Clocks went back at 01:00 UTC: 02:30 came twice. */
                {.utc = "2026-10-25T00:30:00Z",
                 .local = "2026-10-25T02:30:00Z",
                 .is_one_way = true,
                 .back = "2026-10-25T01:30:00Z"},
                {.utc = "2026-10-25T01:30:00Z", .local = "2026-10-25T02:30:00Z"},
                {.utc = "2026-10-25T02:30:00Z", .local = "2026-10-25T03:30:00Z"},
        };

        skip_without_database();
        check_in_child("Europe/Berlin", rows, ARRAY_LEN(rows));
}

TEST(half_hours) {
        static const struct row rows[] = {
                {.utc = "2026-07-23T00:00:00Z", .local = "2026-07-23T05:45:00Z"},
        };
        static const struct row west[] = {
                {.utc = "2026-01-23T00:00:00Z", .local = "2026-01-22T20:30:00Z"},
        };

        skip_without_database();
        check_in_child("Asia/Kathmandu", rows, ARRAY_LEN(rows));
        check_in_child("America/St_Johns", west, ARRAY_LEN(west));
}
