import { generateKeyPairSync, randomUUID, type KeyObject } from 'node:crypto'
import { jwtVerify } from 'jose'
import { pageOf, startEmulator, type Emulator, type Said } from './emulator.ts'

export interface GoogleAccount {
  readonly clientEmail: string
  readonly publicKey: KeyObject
  readonly buckets: Readonly<Record<string, readonly string[]>>
}

/** A service account: the text of its key file, and the public half that the vendor keeps. */
export const makeServiceAccount = (projectId: string, changes: object = {}) => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const clientEmail = `lister@${projectId}.iam.gserviceaccount.com`
  const file = {
    type: 'service_account',
    project_id: projectId,
    private_key_id: 'kid-1',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    client_email: clientEmail,
    token_uri: 'https://elsewhere.example/token',
    ...changes,
  }
  return { clientEmail, publicKey, file, text: JSON.stringify(file) }
}

const refusal = (status: number, reason: string): Said => ({
  status,
  body: JSON.stringify({
    error: { code: status, message: 'vendor text that must not come through', errors: [{ reason }] },
  }),
})

export interface GoogleEmulators {
  readonly storage: Emulator
  readonly tokens: Emulator
  stop(): Promise<void>
}

/**
 * The token endpoint, which verifies the assertion, and the storage API, which takes only tokens that were given out.
 */
export const startGoogleEmulators = async (
  accounts: readonly GoogleAccount[],
  pageSize: number,
): Promise<GoogleEmulators> => {
  const given = new Map<string, GoogleAccount>()
  const tokens = await startEmulator(async (call) => {
    const form = new URLSearchParams(call.body)
    if (
      call.method !== 'POST' ||
      call.url.pathname !== '/token' ||
      form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer'
    )
      return { status: 400, body: '{"error":"invalid_request"}' }
    for (const account of accounts) {
      try {
        await jwtVerify(form.get('assertion') ?? '', account.publicKey, {
          issuer: account.clientEmail,
          audience: 'https://oauth2.googleapis.com/token',
          algorithms: ['RS256'],
        })
      } catch {
        continue
      }
      const token = `ya29.${randomUUID()}`
      given.set(token, account)
      return { status: 200, body: JSON.stringify({ access_token: token, expires_in: 3599, token_type: 'Bearer' }) }
    }
    return {
      status: 400,
      body: '{"error":"invalid_grant","error_description":"vendor text that must not come through"}',
    }
  })
  const storage = await startEmulator(async (call) => {
    const account = given.get(/^Bearer (\S+)$/.exec(call.headers.authorization ?? '')?.[1] ?? '')
    if (account === undefined) return refusal(401, 'authError')
    if (call.url.pathname !== '/storage/v1/b') return refusal(404, 'notFound')
    const buckets = account.buckets[call.url.searchParams.get('project') ?? '']
    if (buckets === undefined) return refusal(403, 'forbidden')
    const { page, next } = pageOf(
      buckets,
      call.url.searchParams.get('pageToken'),
      Math.min(Number(call.url.searchParams.get('maxResults') ?? pageSize), pageSize),
    )
    return {
      status: 200,
      body: JSON.stringify({
        kind: 'storage#buckets',
        items: page.map((name) => ({ id: name, name })),
        ...(next === undefined ? {} : { nextPageToken: next }),
      }),
    }
  })
  return { storage, tokens, stop: async () => void (await Promise.all([storage.stop(), tokens.stop()])) }
}
