// Colours of our own, control characters but line ends and tabs, and marks that turn the direction of what follows.
// oxlint-disable-next-line no-control-regex
const SPECIAL = /\u001b\[[0-9;]*m|[^\P{Cc}\n\t]|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
const UNPRINTABLE = /[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Text with names from outside in it: it may be coloured, but must not move the cursor or rename the window. */
export const harmless = (text: string): string => text.replace(SPECIAL, (found) => (found.length > 1 ? found : ''))

/** JSON in which every character that a terminal could obey is written as an escape. */
export const harmlessJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(
    UNPRINTABLE,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
