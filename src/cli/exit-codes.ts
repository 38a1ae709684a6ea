/** What scripts can rely on. */
export const EXIT = {
  ok: 0,
  /** The work could not be done. */
  failure: 1,
  /** The command line or a file it names is wrong. */
  usage: 2,
  /** The work was done and a check that was asked for did not hold: `replay --check`, `store verify`, `doctor`, `config check`. */
  broken: 3,
  /** Stopped by Ctrl-C. */
  interrupted: 130,
} as const

/** The same for people; the reference is written from here. */
export const EXIT_MEANINGS: Readonly<Record<(typeof EXIT)[keyof typeof EXIT], string>> = {
  [EXIT.ok]: 'Done.',
  [EXIT.failure]: 'It could not be done; the message says why and what to do.',
  [EXIT.usage]: 'The command line, a setting or a file that it names is wrong.',
  [EXIT.broken]:
    'It was done, and a check that was asked for failed (`replay --check`, `simulate --check`, `store verify`, `doctor`).',
  [EXIT.interrupted]: 'Stopped by Ctrl-C.',
}
