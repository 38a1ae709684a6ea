import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../..')

export interface Instruction {
  readonly name: string
  readonly rest: string
}

/** The instructions of a Dockerfile, lines that go on put together, comments left out. */
export const instructionsOf = (text: string): readonly Instruction[] =>
  text
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name, rest] = /^(\w+) (.+)$/.exec(line)!
      return { name: name!, rest: rest! }
    })

export interface Image {
  /** The folder that stands for the root of the image. */
  readonly root: string
  readonly env: Readonly<Record<string, string>>
  readonly user: string | undefined
  readonly healthcheck: string
  /** Entry point and command. */
  readonly command: readonly string[]
}

/**
 * Takes the steps of a Dockerfile in folders below `place`: what would be copied is copied, what would be run is run with the Node and npm
 * of this machine. The base image is the one thing that this does not have.
 */
export function takeSteps(file: string, place: string): Image {
  const stages = new Map<string, string>()
  let root = ''
  let folder = '/'
  let env: Record<string, string> = {}
  let user: string | undefined
  let [entry, command, healthcheck]: [readonly string[], readonly string[], string] = [[], [], '']
  const within = (path: string): string => join(root, resolve(folder, path))
  const steps: Readonly<Record<string, (rest: string) => void>> = {
    FROM(rest) {
      const [, name = `stage-${stages.size}`] = / AS (\w+)$/.exec(rest) ?? []
      root = join(place, name)
      mkdirSync(root)
      stages.set(name, root)
      ;[folder, env, user] = ['/', {}, undefined]
    },
    WORKDIR(rest) {
      folder = rest
      mkdirSync(within('.'), { recursive: true })
    },
    ENV(rest) {
      const at = rest.indexOf('=')
      env[rest.slice(0, at)] = rest.slice(at + 1)
    },
    COPY(rest) {
      const [, stage, list] = /^(?:--from=(\w+) )?(.+)$/.exec(rest)!
      const paths = list!.split(' ')
      const target = paths.pop()!
      for (const path of paths) {
        const from = stage === undefined ? join(ROOT, path) : join(stages.get(stage)!, path)
        const to = target.endsWith('/') ? join(within(target), path.split('/').at(-1)!) : within(target)
        mkdirSync(dirname(to), { recursive: true })
        cpSync(from, to, { recursive: true, verbatimSymlinks: true })
      }
    },
    RUN(rest) {
      // Only the image has the user.
      const line = rest.replaceAll(/(?<=\s)\/(app|data)\b/g, `${root}/$1`).replace(/ && chown \S+ \S+/, '')
      execFileSync('/bin/sh', ['-ec', line], { cwd: within('.'), env: { ...process.env, ...env }, stdio: 'pipe' })
    },
    USER: (rest) => void (user = rest),
    HEALTHCHECK: (rest) => void (healthcheck = rest.slice(rest.indexOf('CMD ') + 4)),
    ENTRYPOINT: (rest) => void (entry = JSON.parse(rest) as string[]),
    CMD: (rest) => void (command = JSON.parse(rest) as string[]),
    VOLUME: () => undefined,
    EXPOSE: () => undefined,
  }
  for (const { name, rest } of instructionsOf(readFileSync(file, 'utf8'))) {
    const step = steps[name]
    if (step === undefined) throw new Error(`${name} is not understood here.`)
    step(rest)
  }
  return { root, env, user, healthcheck, command: [...entry, ...command] }
}
