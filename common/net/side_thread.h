/*
 * A thread for work that is too long for the loop and for a server's workers, such as rendering
 * megabytes. It does one piece after the other.
 */
#pragma once

enum { SIDE_THREAD_MAX_WAITING = 4 };

struct side_thread;

/** side_thread_new() - start it; aborts if the system has no threads left */
struct side_thread *side_thread_new(void);
/** side_thread_post() - call @fn there; any thread. At most SIDE_THREAD_MAX_WAITING pieces may wait
 */
void side_thread_post(struct side_thread *thread, void (*fn)(void *userdata), void *userdata);
/** side_thread_free() - do what was posted, and end; nothing may be posted any more */
void side_thread_free(struct side_thread *thread);
