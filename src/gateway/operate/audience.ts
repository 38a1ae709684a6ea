import type { PlimsollEvent } from '../../core/events.ts'
import { isOneOf, TOKEN_HEADER, unauthorised } from '../access.ts'
import { bearerIn, LOCAL_TENANT, OBSERVED, type HeaderReader } from '../identity.ts'

/** Who looks at the proxy: a tenant at what is its own, or the operator at everything. */
export interface Audience {
  /** Undefined: all that there is, be it the operator's view or the only tenant's. */
  readonly tenant?: string
  /** Asked for each row that is about to be shown. */
  sees(tenant: string): boolean
}

export interface AudienceDeps {
  /** PLIMSOLL_OPERATOR_TOKEN. With it, no one else sees everything. */
  readonly operatorToken?: string
  /** Of the page's address as it is printed at the start. Sees everything; without it the rest stays as it is. */
  readonly pageToken?: string
  /** Tenants of sessions in the store: those that came with another process count too. Asked each time. */
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

export type Audiences = ReturnType<typeof createAudiences>

const EVERYTHING: Audience = { sees: () => true }

/**
 * While one tenant alone uses a proxy and its store, what there is to see is its own, and a visitor needs nothing to see it. From the second
 * tenant on it takes a token or one's own credential. A second process can bring that tenant at any moment, so the store is asked for each
 * visit, and a visitor without a token is shown the rows of the one tenant that was found and no others.
 */
export function createAudiences(deps: AudienceDeps) {
  let only: string | undefined
  let isShared = deps.operatorToken !== undefined && deps.operatorToken !== ''
  const notice = (tenant: string): void => {
    only ??= clientOf(tenant)
    isShared ||= only !== clientOf(tenant)
  }
  // What another tenant brings after this visitor was let in is not shown. Events of the installation itself have no tenant.
  const sole: Audience = { sees: (tenant) => !isShared && (tenant === '' || clientOf(tenant) === only) }
  /** Whether this is the operator's token, or the one that is printed with the page's address. */
  const isOperator = (token: string | undefined): boolean => isOneOf([deps.operatorToken, deps.pageToken], token)
  return {
    isOperator,
    /** Notices whose events there are. */
    take({ tenant, session }: PlimsollEvent): void {
      // Events of the installation itself belong to no session.
      if (session !== '') notice(tenant)
    },
    /** @throws PlimsollError `forbidden` for who shows neither a token nor a credential where there is more than one tenant. */
    async of({ header, path, token }: Asking): Promise<Audience> {
      if (isOperator(token) || isOneOf([deps.operatorToken], bearerIn(header))) return EVERYTHING
      const tenant = await deps.tenantOf(header, path)
      // Without an answer of the store it is not known whose it all is: the error goes to the visitor.
      if (!isShared) for (const stored of (await deps.storedTenants?.()) ?? []) notice(stored)
      if (!isShared && (tenant === LOCAL_TENANT || only === undefined || only === tenant)) return sole
      if (tenant !== LOCAL_TENANT) return { tenant, sees: (other) => clientOf(other) === tenant }
      throw unauthorised(
        'More than one tenant uses this proxy, so it shows each only what is its own.',
        `Send your own API key as in a model call, or the operator's token (PLIMSOLL_OPERATOR_TOKEN) as ${TOKEN_HEADER}.`,
      )
    },
  }
}

const clientOf = (tenant: string): string => (tenant.startsWith(OBSERVED) ? tenant.slice(OBSERVED.length) : tenant)
