/** The module that all scripts of the account pages share. Texts from the service are shown as text, never as HTML. */
const kit = `export const byId = (id) => document.getElementById(id)

const csrfToken = () => {
  for (const cookie of document.cookie.split('; ')) if (cookie.startsWith('_csrf=')) return decodeURIComponent(cookie.slice(6))
  return undefined
}

const parsed = (text) => {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}

const messageOf = (status, json) => {
  const message = typeof json.message === 'string' ? json.message : 'The service answered ' + status + '.'
  const errors = Array.isArray(json.errors) ? json.errors.filter((error) => !message.includes(error)) : []
  return errors.length === 0 ? message : message + ' (' + errors.join('; ') + ')'
}

/** Sends a request to the API of this service. A change has the token of the readable cookie. */
export const ask = async (method, path, body) => {
  const headers = { Accept: 'application/json' }
  const token = csrfToken()
  if (method !== 'GET' && token !== undefined) headers['X-Csrf-Token'] = token
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  try {
    const reply = await fetch('/api/v1' + path, { method, headers, cache: 'no-store', body: body === undefined ? undefined : JSON.stringify(body) })
    const json = parsed(await reply.text())
    return { status: reply.status, json, message: messageOf(reply.status, json) }
  } catch {
    return { status: 0, json: {}, message: 'The service could not be reached. Try again.' }
  }
}

/** The code of the link that was followed. It leaves the address bar and the history at once. */
export const takeCode = () => {
  const code = new URLSearchParams(location.search).get('code') ?? ''
  history.replaceState(null, '', location.pathname)
  return code
}

export const tell = (text, isProblem = false) => {
  const message = byId('message')
  message.classList.toggle('problem', isProblem)
  message.textContent = text
}

/** Shows one of the parts of the page, and focuses its first empty field. */
export const showOnly = (id, ...others) => {
  for (const other of others) byId(other).hidden = true
  const part = byId(id)
  part.hidden = false
  const goals = [...part.querySelectorAll('input:not([type=checkbox]), h2')].filter((goal) => goal.closest('[hidden]') === null)
  const first = goals.find((goal) => goal.value === undefined || goal.value === '')
  first?.focus()
}

/** Runs what a form is for, once at a time; nothing is sent in the browser's own way. */
export const onSubmit = (id, act) => {
  const form = byId(id)
  const button = form.querySelector('button')
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (button.disabled) return
    button.disabled = true
    tell('')
    try {
      await act()
    } finally {
      button.disabled = false
    }
  })
}
`

const confirmEmail = `import { ask, byId, onSubmit, showOnly, takeCode, tell } from './kit.js'

const code = takeCode()
byId('code').value = code
byId('code-row').hidden = code !== ''

// A press of the button, not the opening of the page: programs that read mail follow every link in it.
onSubmit('confirm-form', async () => {
  const answer = await ask('POST', '/user/activate', { code: byId('code').value.trim() })
  if (answer.status !== 200) return tell(answer.message, true)
  showOnly('done', 'confirm-form')
  tell('The address is confirmed.')
})
`

const resetPassword = `import { ask, byId, onSubmit, showOnly, takeCode, tell } from './kit.js'

let code = takeCode()
if (code !== '') showOnly('reset-form', 'ask-form')

onSubmit('ask-form', async () => {
  const answer = await ask('POST', '/user/forgot-password', { email: byId('email').value.trim() })
  if (answer.status !== 202) return tell(answer.message, true)
  byId('code-row').hidden = false
  showOnly('reset-form', 'ask-form')
  tell('If the account exists, a mail is sent. Follow its link, or type its code here.')
})

onSubmit('reset-form', async () => {
  const [password, again] = [byId('new-password').value, byId('new-password-again').value]
  if (password !== again) return tell('The two passwords differ.', true)
  const answer = await ask('POST', '/user/reset-password', { code: code === '' ? byId('code').value.trim() : code, password })
  if (answer.status !== 200) {
    tell(answer.message, true)
    return byId('new-password').focus()
  }
  code = ''
  byId('reset-form').reset()
  showOnly('done', 'reset-form')
  tell('The new password is set, and all sessions were ended.')
})
`

const signInForm = `import { ask, byId, onSubmit, showOnly, tell } from './kit.js'

const parts = ['sign-in-form', 'code-form', 'change-form']
const showPart = (id) => showOnly(id, ...parts.filter((part) => part !== id))
const forget = () => {
  for (const part of parts) byId(part).reset()
}

/** Returns the name of the signed-in user, or undefined. Shows the form for a user whose password must be changed. */
const callerOf = async () => {
  const answer = await ask('GET', '/user/settings/profile')
  if (answer.status === 200) return answer.json.name
  if (answer.json.code === 'PasswordChangeRequired') {
    showPart('change-form')
    tell('A new password is needed before anything else.')
  } else if (answer.status === 401) showPart('sign-in-form')
  else {
    showPart('sign-in-form')
    tell(answer.message, true)
  }
  return undefined
}

/** Asks for name, password and code as far as it takes, and then calls with the name of the user. */
export const signIn = async (onSignedIn) => {
  const goOn = async () => {
    const caller = await callerOf()
    if (caller === undefined) return
    forget()
    for (const part of parts) byId(part).hidden = true
    await onSignedIn(caller)
  }
  const credentials = () => ({ username: byId('username').value.trim(), password: byId('password').value, remember: byId('remember').checked })

  onSubmit('sign-in-form', async () => {
    const answer = await ask('POST', '/user/signin', credentials())
    if (answer.status === 200) return goOn()
    if (answer.status === 405 && answer.json.code === 'SecondFactorNeeded') return showPart('code-form')
    tell(answer.message, true)
    byId('password').focus()
  })
  onSubmit('code-form', async () => {
    const answer = await ask('POST', '/user/signin/twofa', { ...credentials(), passCode: byId('one-time-code').value.trim() })
    byId('one-time-code').value = ''
    if (answer.status === 200) return goOn()
    if (answer.status === 404) showPart('sign-in-form')
    // The service's own words are for programs: they name a header.
    tell(answer.status === 401 ? 'This code is wrong or was used already. Wait for the next one; after many failed attempts, wait longer.' : answer.message, true)
  })
  onSubmit('change-form', async () => {
    const [old_password, password, retype] = [byId('old-password').value, byId('new-password').value, byId('new-password-again').value]
    const answer = await ask('POST', '/user/settings/account/password', { old_password, password, retype })
    if (answer.status !== 200) return tell(answer.message, true)
    await goOn()
  })
  await goOn()
}

/** Ends the session and shows the sign-in form. */
export const signOut = async () => {
  const answer = await ask('GET', '/user/signout')
  if (answer.status !== 200 && answer.status !== 401) return tell(answer.message, true)
  forget()
  showPart('sign-in-form')
  tell('Signed out.')
}
`

const signIn = `import { byId, showOnly } from './kit.js'
import { signIn, signOut } from './sign-in-form.js'

byId('sign-out').addEventListener('click', async () => {
  byId('account').hidden = true
  await signOut()
})

await signIn((login) => {
  byId('login').textContent = login
  showOnly('account')
})
`

const acceptInvitation = `import { ask, byId, onSubmit, showOnly, takeCode, tell } from './kit.js'
import { signIn, signOut } from './sign-in-form.js'

const path = '/user/invitations/' + encodeURIComponent(takeCode())
const hasCode = path !== '/user/invitations/'

byId('sign-out').addEventListener('click', async () => {
  byId('account').hidden = true
  byId('invitation-form').hidden = true
  await signOut()
})

onSubmit('invitation-form', async () => {
  const answer = await ask('PUT', path)
  if (answer.status !== 204) return tell(answer.message, true)
  byId('invitation-form').hidden = true
  tell('You are a member of ' + byId('organization').textContent + ' now.')
})

const show = async (login) => {
  byId('login').textContent = login
  byId('account').hidden = false
  const answer = await ask('GET', path)
  if (answer.status !== 200) return tell(answer.message, true)
  const { org, role, inviter, email, expires_at } = answer.json
  byId('organization').textContent = org.full_name === '' ? org.username : org.full_name + ' (' + org.username + ')'
  byId('role').textContent = role
  byId('inviter').textContent = inviter
  byId('invited-email').textContent = email
  byId('expires').textContent = new Date(expires_at).toLocaleString()
  showOnly('invitation-form')
  tell('')
}

if (hasCode) await signIn(show)
else tell('This page needs the link of the mail: open that link again.', true)
`

/** The scripts of the account pages, by file name. */
export const accountScripts: Readonly<Record<string, string>> = {
  'kit.js': kit,
  'confirm-email.js': confirmEmail,
  'reset-password.js': resetPassword,
  'sign-in-form.js': signInForm,
  'sign-in.js': signIn,
  'accept-invitation.js': acceptInvitation,
}
