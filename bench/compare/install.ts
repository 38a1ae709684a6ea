/** Other people's context managers, installed beside the bench and never into the package. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export const VERSIONS = {
  '@langchain/core': '1.2.13',
  langchain: '1.5.14',
  '@langchain/langgraph': '1.4.18',
  ai: '6.0.326',
  '@mastra/core': '1.71.0',
  '@strands-agents/sdk': '1.19.0',
  '@modelcontextprotocol/sdk': '1.24.3',
  '@context-chef/core': '4.2.1',
} as const

const folder = join(import.meta.dirname, '..', '.peers')

export function installPeers(): void {
  mkdirSync(folder, { recursive: true })
  const manifest = join(folder, 'package.json')
  if (!existsSync(manifest)) writeFileSync(manifest, '{"private":true,"type":"module"}\n')
  const missing = Object.entries(VERSIONS).filter(([name, version]) => installed(name) !== version)
  if (missing.length === 0) return
  const wanted = missing.map(([name, version]) => `${name}@${version}`)
  console.error(`installing ${wanted.join(', ')}`)
  const flags = ['--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', ['install', ...flags, ...wanted], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
}

function installed(name: string): string | undefined {
  const manifest = join(folder, 'node_modules', name, 'package.json')
  return existsSync(manifest) ? (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version : undefined
}

export async function load<T>(specifier: string): Promise<T> {
  const resolve = createRequire(join(folder, 'package.json')).resolve
  return (await import(pathToFileURL(resolve(specifier)).href)) as T
}
