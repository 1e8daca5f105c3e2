/*
 * cmocka wants these headers in front of its own, and assert.h must not have the last word.
 * Every unit test includes this instead of <cmocka.h>.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h> /* IWYU pragma: export */
