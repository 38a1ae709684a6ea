import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CountText } from './contenders.ts'

/** Exact o200k counters that the project does not depend on, installed beside the bench on first use. */
const folder = join(import.meta.dirname, '..', '.peers', 'tokenizers')
const VERSIONS = { 'js-tiktoken': '1.0.21', kitoken: '0.10.1' } as const

export const TOKENIZER_PEERS = Object.keys(VERSIONS)

export function installTokenizerPeers(): void {
  if (TOKENIZER_PEERS.every((name) => existsSync(join(folder, 'node_modules', name)))) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}\n')
  const wanted = Object.entries(VERSIONS).map(([name, version]) => `${name}@${version}`)
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error', ...wanted], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

/** Undefined for a name that is no peer. */
export async function loadPeer(name: string): Promise<CountText | undefined> {
  const { resolve } = createRequire(join(folder, 'package.json'))
  const load = async <T>(specifier: string): Promise<T> => (await import(pathToFileURL(resolve(specifier)).href)) as T
  if (name === 'js-tiktoken') {
    const { getEncoding } = await load<TikToken>('js-tiktoken')
    const encoding = getEncoding('o200k_base')
    return (text) => encoding.encode(text, [], []).length
  }
  if (name === 'kitoken') {
    const { Kitoken } = await load<Kitokens>('kitoken/node')
    const vocabulary = createRequire(import.meta.url).resolve('gpt-tokenizer/data/o200k_base.tiktoken')
    const encoder = Kitoken.from_tiktoken(readFileSync(vocabulary))
    return (text) => encoder.encode(text).length
  }
  return undefined
}

interface TikToken {
  getEncoding(name: string): { encode(text: string, allowed: string[], refused: string[]): number[] }
}

interface Kitokens {
  readonly Kitoken: { from_tiktoken(data: Uint8Array): { encode(text: string): Uint32Array } }
}
