/**
 * Writes `src/meter/estimator/known-pieces-data.json`: the Bloom filter over those tokens of o200k that are whole pieces of its
 * pattern. Run: `npx tsx scripts/build-known-pieces.ts`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { O200K } from '../src/meter/bpe/vocabularies.ts'
import { readTiktokenRanks } from '../src/meter/bpe/bpe.ts'
import { addKnown, FILTER_WORDS, hashStart, hashStep, hashWithLead } from '../src/meter/estimator/scan.ts'

const vocabulary = createRequire(import.meta.url).resolve('gpt-tokenizer/data/o200k_base.tiktoken')
const filter = new Uint32Array(FILTER_WORDS)
let pieces = 0
for (const bytes of (await readTiktokenRanks(readFileSync(vocabulary, 'latin1'))).keys()) {
  const token = Buffer.from(bytes, 'latin1').toString('utf8')
  if (token.includes('\ufffd') || /^[\s\p{N}]+$/u.test(token) || !isWholePiece(token)) continue
  addKnown(filter, hashOf(token))
  pieces++
}
const target = fileURLToPath(new URL('../src/meter/estimator/known-pieces-data.json', import.meta.url))
const source = `Written by scripts/build-known-pieces.ts from the o200k vocabulary (MIT). ${pieces} pieces in ${filter.byteLength} bytes.`
writeFileSync(target, JSON.stringify({ source, filter: packed().toString('base64') }, undefined, 2))
console.log(`${pieces} pieces -> ${target}`)

function packed(): Buffer {
  const bytes = Buffer.alloc(filter.byteLength)
  filter.forEach((word, index) => bytes.writeUInt32LE(word, index * 4))
  return bytes
}

function isWholePiece(token: string): boolean {
  O200K.lastIndex = 0
  return O200K.exec(token)?.[0] === token
}

/** The same split into lead and rest as in the scan. */
function hashOf(token: string): number {
  const leads = token.length > 1 && (/^[^\p{L}\p{M}]\p{L}/u.test(token) || /^ [^\s\p{L}\p{N}]/u.test(token))
  let hash = hashStart
  for (let i = leads ? 1 : 0; i < token.length; i++) hash = hashStep(hash, token.charCodeAt(i))
  return hashWithLead(hash, leads ? token.charCodeAt(0) : 0)
}
