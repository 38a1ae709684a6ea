/**
 * Checks where dependencies come from. The lockfile is judged alone: every package has a sha512, none comes from a git address, a file or a
 * plain-text download. What only the registry knows (signatures, known vulnerabilities) is asked where it answers, and said to be
 * unknown where it does not. Run: `npm run audit:deps`.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

interface Locked {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly link?: boolean
  readonly inBundle?: boolean
}

const { packages } = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')) as {
  packages: Readonly<Record<string, Locked>>
}

const problems = Object.entries(packages).flatMap(([path, { integrity, resolved, link, inBundle }]) => {
  if (path === '' || link === true || inBundle === true) return []
  return [
    ...(integrity?.startsWith('sha512-') === true ? [] : [`${path} has no sha512`]),
    ...(resolved === undefined || resolved.startsWith('https://') ? [] : [`${path} comes from ${resolved}`]),
  ]
})
process.stdout.write(`${Object.keys(packages).length - 1} packages in the lockfile, ${problems.length} problems\n`)
for (const problem of problems) process.stdout.write(`  ${problem}\n`)

for (const [what, args] of [
  ['signatures', ['audit', 'signatures']],
  ['known vulnerabilities', ['audit', '--omit=dev', '--audit-level=high']],
] as const) {
  const { status, stdout, stderr } = spawnSync('npm', args, { encoding: 'utf8' })
  const isUnanswered =
    /ENOAUDIT|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|E40[0-9]|not (?:found|supported)|No signatures|no keys|405 Method|endpoint returned an error/i.test(
      stderr,
    )
  const said = status === 0 ? 'fine' : isUnanswered ? 'unknown: the registry does not say' : 'PROBLEM'
  process.stdout.write(`${what}: ${said}\n`)
  if (said === 'PROBLEM') {
    process.stdout.write(stdout + stderr)
    problems.push(what)
  }
}
process.exitCode = problems.length === 0 ? 0 : 1
