import type { Risk } from './tools/tool.ts'

export interface Permissions {
  /** Asks the person when it must. */
  allows(tool: string, risk: Risk, what: string): Promise<boolean>
}

export interface PermissionOptions {
  /** Tools that were allowed on the command line; `all` allows everything. */
  readonly allowed: readonly string[]
  /** Undefined when nobody can be asked: then the answer is no. */
  readonly ask: ((question: string) => Promise<string>) | undefined
}

/** Nothing that changes files or runs programs happens without a yes. */
export function createPermissions({ allowed, ask }: PermissionOptions): Permissions {
  const always = new Set(allowed)
  return {
    async allows(tool, risk, what) {
      if (risk === 'none' || always.has(tool) || always.has('all')) return true
      if (ask === undefined) return false
      const answer = (await ask(`Allow ${tool} ${what}? [y]es, [n]o, [a]lways in this session: `)).trim().toLowerCase()
      if (answer === 'a' || answer === 'always') always.add(tool)
      return ['y', 'yes', 'a', 'always'].includes(answer)
    },
  }
}
