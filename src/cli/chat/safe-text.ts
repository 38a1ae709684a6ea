// Control characters but line ends and tabs, and marks that turn the direction of what follows.
const UNSAFE = /[^\P{Cc}\n\t]|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** What a model or a tool says may be shown, but must not move the cursor or rename the window. */
export const safeText = (text: string): string => text.replace(UNSAFE, '')
