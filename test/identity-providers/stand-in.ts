import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import * as jose from 'jose'
import { Provider, type Configuration } from 'oidc-provider'

/** What the provider says of a person. */
export interface Person {
  readonly sub: string
  readonly email?: string
  readonly email_verified?: unknown
  readonly preferred_username?: string
  readonly name?: string
  readonly groups?: readonly string[]
  readonly [claim: string]: unknown
}

/** An answer of the provider, before it is sent. */
export interface Answer {
  status: number
  type: string
  body: string
  location?: string
}

export const clientId = 'moorage'
export const clientSecret = 's3cret-s3cret-s3cret-s3cret-12345'

/** A certified provider in this process (oidc-provider), whose answers a test changes. */
export interface StandIn {
  readonly issuer: string
  readonly people: Map<string, Person>
  /** Who signs in next, by `sub`. */
  as: string
  /** Changes each answer of a path below the issuer: `/token`, `/jwks`. Undefined: the answer of the provider. */
  readonly change: Map<string, (answer: Answer) => void | Promise<void>>
  /** The requests so far, by path. */
  readonly requests: Map<string, number>
  /** Signs claims as the provider does, with its key or another one. */
  sign(claims: jose.JWTPayload, header?: Partial<jose.JWTHeaderParameters>, key?: jose.CryptoKey): Promise<string>
  readonly publicKeyPem: string
  /** Publishes a new key, which signs from now on. */
  rotate(): Promise<void>
  /** Returns the claims of the ID token in an answer of the token endpoint. */
  claimsOf(answer: Answer): jose.JWTPayload
  /** Replaces the ID token in an answer of the token endpoint. */
  withIdToken(answer: Answer, idToken: string): void
  /** Registers the redirect URIs that were added since the start. */
  restart(): void
  stop(): Promise<void>
}

const oidc = (
  {
    redirectUris,
    people,
    as,
  }: {
    readonly redirectUris: () => string[]
    readonly people: Map<string, Person>
    readonly as: () => string
  },
  jwks: { keys: jose.JWK[] },
): Configuration => ({
  clients: [
    {
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uris: redirectUris(),
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'client_secret_basic',
    },
  ],
  jwks: jwks as never,
  features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: true } },
  claims: {
    openid: ['sub'],
    email: ['email', 'email_verified'],
    profile: ['name', 'preferred_username', 'groups', '_claim_names'],
  },
  scopes: ['openid', 'offline_access', 'email', 'profile'],
  conformIdTokenClaims: false,
  pkce: { required: () => true },
  issueRefreshToken: async () => true,
  rotateRefreshToken: true,
  cookies: { keys: ['a key of the stand-in'] },
  ttl: { AccessToken: 300, Grant: 3600, IdToken: 300, Interaction: 600, RefreshToken: 3600, Session: 3600 },
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  findAccount: (_, sub) => {
    const person = people.get(sub)
    return person === undefined ? undefined : { accountId: sub, claims: () => ({ ...person }) }
  },
  loadExistingGrant: async (ctx) => {
    const { oidc: op } = ctx
    const grant = new op.provider.Grant({ clientId, accountId: op.session?.accountId ?? as() })
    grant.addOIDCScope('openid email profile offline_access')
    await grant.save()
    return grant
  },
})

const newKey = async (kid: string) => {
  const pair = await jose.generateKeyPair('RS256', { extractable: true })
  return { pair, jwk: { ...(await jose.exportJWK(pair.privateKey)), kid, alg: 'RS256', use: 'sig' } }
}

/** @param redirectUris where it may send browsers to; read at each start of a sign-in. */
export const startStandIn = async (redirectUris: readonly string[]): Promise<StandIn> => {
  const people = new Map<string, Person>()
  const change: StandIn['change'] = new Map()
  const requests = new Map<string, number>()
  let key = await newKey('first')
  const keys = [key.jwk]
  const state = { as: 'u1' }

  const server = createServer((req, res) => void answer(req, res))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const make = () => {
    const made = new Provider(
      issuer,
      oidc({ redirectUris: () => [...redirectUris], people, as: () => state.as }, { keys: [...keys] }),
    )
    // Its addresses are those of the listener outside.
    made.proxy = true
    return made
  }
  let provider = make()

  /** Lets the provider answer into a buffer, and sends what the test makes of that. */
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const path = new URL(req.url ?? '/', issuer).pathname
    requests.set(path, (requests.get(path) ?? 0) + 1)
    if (path.startsWith('/interaction/')) {
      await provider.interactionFinished(
        req,
        res,
        { login: { accountId: state.as } },
        { mergeWithLastSubmission: false },
      )
      return
    }
    const changed = change.get(path)
    if (changed === undefined) return void provider.callback()(req, res)
    const made = await asked(req)
    await changed(made)
    res.writeHead(made.status, {
      'content-type': made.type,
      ...(made.location === undefined ? {} : { location: made.location }),
    })
    res.end(made.body)
  }

  /** Sends the same request to the provider on a listener of its own. */
  const asked = async (req: IncomingMessage): Promise<Answer> => {
    const inner = createServer((inReq, inRes) => void provider.callback()(inReq, inRes))
    await new Promise<void>((resolve) => inner.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = inner.address() as AddressInfo
      const { host: _, 'content-length': __, connection: ___, ...headers } = req.headers
      const body = req.method === 'POST' ? await buffer(req) : undefined
      const reply = await fetch(`http://127.0.0.1:${port}${req.url ?? '/'}`, {
        method: req.method ?? 'GET',
        headers: { ...(headers as Record<string, string>), 'x-forwarded-host': new URL(issuer).host },
        redirect: 'manual',
        ...(body === undefined ? {} : { body }),
      })
      const location = reply.headers.get('location')
      return {
        status: reply.status,
        type: reply.headers.get('content-type') ?? 'text/plain',
        body: await reply.text(),
        ...(location === null ? {} : { location }),
      }
    } finally {
      inner.closeAllConnections()
      inner.close()
    }
  }

  return {
    issuer,
    people,
    get as() {
      return state.as
    },
    set as(sub) {
      state.as = sub
    },
    change,
    requests,
    publicKeyPem: await jose.exportSPKI(key.pair.publicKey),
    sign: (claims, header = {}, own = key.pair.privateKey) =>
      new jose.SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: key.jwk.kid, ...header }).sign(own),
    async rotate() {
      key = await newKey(`key-${keys.length + 1}`)
      keys.unshift(key.jwk)
      provider = make()
    },
    claimsOf: ({ body }) => jose.decodeJwt((JSON.parse(body) as { id_token: string }).id_token),
    withIdToken(made, idToken) {
      made.body = JSON.stringify({ ...(JSON.parse(made.body) as object), id_token: idToken })
    },
    restart: () => {
      provider = make()
    },
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
