import crypto from 'node:crypto'

export const sha256Text = (body: string | Uint8Array, encoding: 'hex' | 'base64url'): string =>
  crypto.hash('sha256', body, encoding)

/** The first characters, copied: a slice would keep the whole text in memory, and hundreds of thousands of hashes are kept. */
export const shortSha256 = (body: string, characters: number): string =>
  Buffer.from(sha256Text(body, 'hex').slice(0, characters), 'latin1').toString('latin1')
