import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Command } from 'commander'
import { PlimsollError } from '../../core/errors.ts'
import { parsedJson, recordOf } from '../../core/values.ts'
import { KNOWN_PACKAGES, type KnownPackage } from '../../adapters/known-packages.ts'
import { withExamples } from '../kit/examples.ts'
import { print } from '../kit/output.ts'

interface InitFlags {
  readonly json?: boolean
}

export const initCommand = (): Command =>
  withExamples(
    new Command('init').argument('[folder]', 'the project', '.').option('--json', 'machine-readable output'),
    'plimsoll init',
    'plimsoll init --json',
  ).action((folder: string, { json }: InitFlags) => {
    if (!existsSync(folder)) throw new PlimsollError('bad-input', `There is no folder ${resolve(folder)}.`)
    const project = projectOf(resolve(folder))
    const packages = packagesOf(project)
    const found = KNOWN_PACKAGES.filter((known) => packages.has(known.package))
    print(json, { project: project ?? null, found }, () =>
      found.length === 0 ? nothing(project) : found.map(block).join('\n\n'),
    )
  })

/** The nearest folder with a package.json, starting from the given one. */
function projectOf(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, 'package.json'))) return at
    if (dirname(at) === at) return undefined
  }
}

const DECLARED = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies']

function packagesOf(root: string | undefined): ReadonlySet<string> {
  if (root === undefined) return new Set()
  const manifest = recordOf(parsedJson(readFileSync(join(root, 'package.json'), 'utf8'))) ?? {}
  return new Set(DECLARED.flatMap((group) => Object.keys(recordOf(manifest[group]) ?? {})))
}

const block = ({ name, package: from, lines, page, note }: KnownPackage): string =>
  [
    `${name} (${from})`,
    '',
    ...lines.map((line) => `  ${line}`),
    '',
    ...(note === undefined ? [] : [note]),
    `More: ${page} in the package`,
  ].join('\n')

const nothing = (project: string | undefined): string =>
  [
    project === undefined
      ? 'There is no package.json here or above.'
      : `No SDK or framework that Plimsoll knows is in ${join(project, 'package.json')}.`,
    '',
    'For any SDK that takes a fetch:',
    '',
    "  import { createPlimsoll } from 'plimsoll'",
    '  const plimsoll = createPlimsoll()',
    '  // pass fetch: plimsoll.fetch where the SDK makes its requests',
    '',
    'Agents in other languages: start plimsoll proxy and set their base URL to the address that it prints.',
  ].join('\n')
