/* Which file of CAs is taken. */
#include "tests/unit/fixture/test.h"

#include "net/ca_bundle.h"

static const char there[] = "/proc/self/status", missing[] = "/nonexistent/ca.pem";

TEST(the_first_that_is_there) {
        assert_ptr_equal(ca_bundle_find(NULL, (const char *[]){missing, there, "/", NULL}), there);
        assert_null(ca_bundle_find(NULL, (const char *[]){missing, NULL}));
        assert_null(ca_bundle_find(NULL, (const char *[]){NULL}));
}

/* A named file that is missing is an error that the user must see, not a reason to trust others.
 */
TEST(what_is_named_is_taken) {
        assert_ptr_equal(ca_bundle_find(missing, (const char *[]){there, NULL}), missing);
        assert_ptr_equal(ca_bundle_find("", (const char *[]){there, NULL}), there);
}
