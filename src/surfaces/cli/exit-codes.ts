/** What scripts can rely on. */
export const EXIT = {
  ok: 0,
  /** The work could not be done. */
  failure: 1,
  /** The command line or a file it names is wrong. */
  usage: 2,
} as const
