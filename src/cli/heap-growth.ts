import { setFlagsFromString } from 'node:v8'

/**
 * Makes V8 collect garbage sooner, in processes that we own. By default the old generation may grow to four times its live size before a full
 * collection, so a busy proxy keeps memory for hours that it used for seconds. Collecting at twice the live size was as fast.
 */
export const collectSooner = (): void => setFlagsFromString('--heap-growing-percent=100')
