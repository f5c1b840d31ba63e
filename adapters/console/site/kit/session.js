import { signal } from '@preact/signals-core'
import { root } from './address.js'
import { asApiError, get, isSignedOut, refusalOf, send } from './client.js'

/**
 * @import { AccountFacts, SessionFacts } from 'api-shapes'
 */

/** The caller, once known. @type {import('@preact/signals-core').Signal<SessionFacts | undefined>} */
export const session = signal(undefined)

/** The sign-in page is beside the console. */
const signInPage = new URL('../sign-in', root)

/** The page on which users change their password, tokens and second factor. */
export const accountPage = new URL('../account', root).href
export const docsPage = new URL('../api/v1/docs', root).href

/** Leaves the console for the sign-in page, which returns to the present address. */
const leaveToSignIn = () => {
  sessionStorage.setItem('moorage-continue', location.pathname + location.search)
  location.replace(signInPage)
}

/** The sign-in page for a tab of its own, while this one keeps what was typed. */
export const signInHref = signInPage.href

/**
 * Reads who the caller is and which accounts they work in. Without a session the sign-in page opens.
 */
export const loadSession = async () => {
  const reply = await send('GET', '/user', { waitsForSignIn: false })
  if (reply.status === 401) return leaveToSignIn()
  // The sign-in page asks for the new password.
  if (reply.status === 403 && (await reply.clone().json()).code === 'PasswordChangeRequired') return leaveToSignIn()
  if (!reply.ok) throw await refusalOf(reply)
  /** @type {import('api-shapes').Schemas['User']} */
  const user = await reply.json()
  const [{ data: organizations }, branding] = await Promise.all([
    get('/user/orgs', {}),
    get('/branding', {}).catch(() => undefined),
  ])
  /** @type {AccountFacts[]} */
  const accounts = [
    { id: user.id, name: user.login, title: user.full_name || user.login, isOrganization: false },
    ...organizations.map(({ id, username, full_name }) => ({
      id,
      name: username,
      title: full_name || username,
      isOrganization: true,
    })),
  ]
  session.value = { user, isSiteAdmin: user.is_admin === true, accounts, branding: branding?.data }
}

/** How long an answer about the user counts, in milliseconds. */
const checkedMs = 5_000
let checkedAt = 0

/** Asks who is signed in when the tab is shown again; a different user gets the console from the start. */
export const checkSession = async () => {
  if (document.hidden || session.value === undefined) return
  if (!isSignedOut.value && Date.now() - checkedAt < checkedMs) return
  checkedAt = Date.now()
  try {
    const reply = await send('GET', '/user', { waitsForSignIn: false })
    if (!reply.ok) return
    const user = await reply.json()
    if (user.login !== session.value?.user.login) return location.reload()
    isSignedOut.value = false
  } catch (error) {
    asApiError(error)
  }
}

addEventListener('focus', () => void checkSession())
document.addEventListener('visibilitychange', () => void checkSession())

/** Ends the session, also at the identity provider that opened it. */
export const signOut = async () => {
  const elsewhere = await send('GET', '/user/oauth2/end-session', { waitsForSignIn: false })
  const url = elsewhere.ok ? (await elsewhere.json()).url : ''
  await send('GET', '/user/signout', { waitsForSignIn: false })
  location.assign(typeof url === 'string' && url.startsWith('http') ? url : signInPage.href)
}
