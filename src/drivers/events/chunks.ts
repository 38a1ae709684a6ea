import { BoundedMap } from '../../util/bounded-map.ts'
import { randomBytes } from 'node:crypto'

/*
 * Postgres carries less than 8000 bytes per notification. Longer texts travel in numbered pieces: `id:index:count:piece`.
 */

const MAX_PIECE_BYTES = 7900
/** Pieces of messages whose rest never came are dropped, oldest first. */
const MOST_OPEN_MESSAGES = 64

/** ASCII, so that characters and bytes are the same and no piece ends inside a character. */
const toAscii = (text: string): string =>
  text.replace(/[\u0080-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** `json` must be JSON: characters beyond ASCII are written as its escapes. */
export function toPieces(json: string): string[] {
  const ascii = toAscii(json)
  const id = randomBytes(6).toString('hex')
  const room = MAX_PIECE_BYTES - 40
  const count = Math.max(1, Math.ceil(ascii.length / room))
  return Array.from({ length: count }, (_, i) => `${id}:${i}:${count}:${ascii.slice(i * room, (i + 1) * room)}`)
}

/** Gives the whole text when its last piece has come. */
export function pieceReader(): (piece: string) => string | undefined {
  const open = new BoundedMap<string, string[]>(MOST_OPEN_MESSAGES)
  return (piece) => {
    const match = /^([0-9a-f]+):(\d+):(\d+):(.*)$/s.exec(piece)
    if (match === null) return undefined
    const [, id = '', index, count, text = ''] = match
    if (count === '1') return text
    const parts = open.get(id) ?? []
    parts[Number(index)] = text
    open.set(id, parts)
    if (parts.filter((part) => part !== undefined).length < Number(count)) return undefined
    open.delete(id)
    return parts.join('')
  }
}
