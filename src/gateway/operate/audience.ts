import type { PlimsollEvent } from '../../core/events.ts'
import { isOneOf, TOKEN_HEADER, unauthorised } from '../access.ts'
import { bearerIn, NOBODY, OBSERVED, type HeaderReader } from '../identity.ts'

/** Who looks at the proxy: one tenant at what is its own, or whoever runs the proxy at everything. */
export interface Audience {
  /** Undefined: everything. */
  readonly tenant?: string
  sees(tenant: string): boolean
}

export interface AudienceDeps {
  /** PLIMSOLL_OPERATOR_TOKEN. With it, nobody else sees everything. */
  readonly operatorToken?: string
  /** Of the page's address as it is printed at the start. Sees everything; without it the rest stays as it is. */
  readonly pageToken?: string
  /** Tenants of sessions in the store: those that were here before this process count too. */
  readonly storedTenants?: () => Promise<readonly string[]>
  /** The tenant behind a request's own credential. */
  readonly tenantOf: (header: HeaderReader, path: string) => Promise<string>
}

export interface Asking {
  readonly header: HeaderReader
  readonly path: string
  /** The proxy's token, as it was given. */
  readonly token: string | undefined
}

export interface Audiences {
  /** Notices whose events there are. */
  take(event: PlimsollEvent): void
  /** @throws PlimsollError `forbidden` for who shows neither a token nor a credential where there is more than one tenant. */
  of(asking: Asking): Promise<Audience>
}

const EVERYTHING: Audience = { sees: () => true }

/** While one tenant alone uses a proxy, what there is to see is its own. From the second on it takes a token or one's own credential. */
export function createAudiences(deps: AudienceDeps): Audiences {
  let only: string | undefined
  let isShared = deps.operatorToken !== undefined && deps.operatorToken !== ''
  let looked: Promise<void> | undefined
  const notice = (tenant: string): void => {
    only ??= clientOf(tenant)
    isShared ||= only !== clientOf(tenant)
  }
  const lookAtStore = (): Promise<void> =>
    (looked ??= (deps.storedTenants ?? (async () => []))().then(
      (tenants) => tenants.forEach(notice),
      // A store that does not answer shows nothing either.
      () => (looked = undefined),
    ))
  return {
    take({ tenant, session }) {
      // Events of the installation itself belong to no session.
      if (session !== '') notice(tenant)
    },
    async of({ header, path, token }) {
      if (isOneOf([deps.operatorToken, deps.pageToken], token)) return EVERYTHING
      if (isOneOf([deps.operatorToken], bearerIn(header))) return EVERYTHING
      await lookAtStore()
      if (!isShared) return EVERYTHING
      const tenant = await deps.tenantOf(header, path)
      if (tenant !== NOBODY) return { tenant, sees: (other) => clientOf(other) === tenant }
      throw unauthorised(
        'More than one tenant uses this proxy, so it shows each only what is its own.',
        `Send your own API key as in a model call, or the operator's token (PLIMSOLL_OPERATOR_TOKEN) as ${TOKEN_HEADER}.`,
      )
    },
  }
}

const clientOf = (tenant: string): string => (tenant.startsWith(OBSERVED) ? tenant.slice(OBSERVED.length) : tenant)
