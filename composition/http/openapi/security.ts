import type { Access } from '../../../plugins/kit/access.ts'

type Requirement = Readonly<Record<string, readonly string[]>>

/** Every way in which a credential may travel. */
export const securitySchemes = (sessionCookie: string): Readonly<Record<string, object>> => ({
  tokenHeader: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description: 'A personal access token: `Authorization: token <ACCESS_TOKEN>`. Write the word `token` and a space before it.',
  },
  bearer: { type: 'http', scheme: 'bearer', description: 'A personal access token: `Authorization: Bearer <ACCESS_TOKEN>`.' },
  basic: {
    type: 'http',
    scheme: 'basic',
    description:
      'User name and password, with the one-time code in `X-OTP` where two-factor authentication is on. An access token may stand as the password, with its owner or `x-oauth-basic` as the user name, or as the user name with the password empty or `x-oauth-basic`; routes that want the real password refuse it.',
  },
  queryToken: { type: 'apiKey', in: 'query', name: 'token', description: 'A personal access token. URLs end up in logs of others: prefer a header.' },
  queryAccessToken: { type: 'apiKey', in: 'query', name: 'access_token', description: 'The same as `token`.' },
  sessionCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: sessionCookie,
    description: 'A session, as sign-in sets it. Methods other than GET also need the header `X-Csrf-Token` with the value of the cookie `_csrf`. It never combines with `sudo` nor with another credential, and counts for nothing on a request from another site.',
  },
})

const alone = (name: string): Requirement => ({ [name]: [] })
const anyCredential = ['tokenHeader', 'bearer', 'basic', 'queryToken', 'queryAccessToken', 'sessionCookie'].map(alone)

/** The `security` of an operation. The empty requirement says that no credential is needed. */
export const securityOf = (access: Access): readonly Requirement[] => {
  if (access.kind === 'public') return [{}, ...anyCredential]
  return access.kind === 'password' ? [alone('basic')] : anyCredential
}
