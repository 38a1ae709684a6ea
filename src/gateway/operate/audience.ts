import type { PlimsollEvent } from '../../core/events.ts'
import { isOneOf, TOKEN_HEADER, unauthorised } from '../access.ts'
import { bearerIn, LOCAL_TENANT, OBSERVED, type HeaderReader } from '../identity.ts'

/** A visitor of the page or the API: a tenant, who sees its own data, or the operator, who sees everything. */
export interface Audience {
  /** Undefined: everything, for the operator or the only tenant. */
  readonly tenant?: string
  /** Checked for each row before it is shown. */
  sees(tenant: string): boolean
}

export interface AudienceDeps {
  /** PLIMSOLL_OPERATOR_TOKEN. If it is set, only its holder sees everything. */
  readonly operatorToken?: string
  /** The token in the page's address that is printed at the start. Its holder sees everything. */
  readonly pageToken?: string
  /** Tenants with sessions in the store, those of other processes included. Read for each visit. */
  readonly storedTenants?: () => Promise<readonly string[]>
  /** The tenant of a request's credential. */
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
 * While only one tenant uses a proxy and its store, all data is its own, so visitors need no token. Once there is a second tenant,
 * a visitor needs a token or its own credential. Another process can add that tenant at any time, so the store is read for each
 * visit, and a visitor without a token only sees the rows of the one tenant that was found.
 */
export function createAudiences(deps: AudienceDeps) {
  let only: string | undefined
  let isShared = deps.operatorToken !== undefined && deps.operatorToken !== ''
  const notice = (tenant: string): void => {
    only ??= clientOf(tenant)
    isShared ||= only !== clientOf(tenant)
  }
  // Data of a tenant that comes later is not shown. Events of the installation itself have no tenant.
  const sole: Audience = { sees: (tenant) => !isShared && (tenant === '' || clientOf(tenant) === only) }
  /** Whether this is the operator's token, or the one in the page's printed address. */
  const isOperator = (token: string | undefined): boolean => isOneOf([deps.operatorToken, deps.pageToken], token)
  return {
    isOperator,
    /** Notices whose events there are. */
    take({ tenant, session }: PlimsollEvent): void {
      // Events of the installation itself belong to no session.
      if (session !== '') notice(tenant)
    },
    /** @throws PlimsollError `forbidden` without a token and a credential when there is more than one tenant */
    async of({ header, path, token }: Asking): Promise<Audience> {
      if (isOperator(token) || isOneOf([deps.operatorToken], bearerIn(header))) return EVERYTHING
      const tenant = await deps.tenantOf(header, path)
      // If the store does not answer, the tenants are unknown, so the visitor gets the error.
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
