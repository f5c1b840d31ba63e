/** The module that all scripts of the account pages share. Texts from the service are shown as text, never as HTML. */
/** The path of the root of the host, also below the path of a reverse proxy. */
export const root = new URL(import.meta.url).pathname.replace(/(?:account|api\/v1\/docs)\/kit\.js$/, '')

export const byId = (id) => document.getElementById(id)

/** Returns the value that a change with the session cookie must carry. */
export const csrfToken = () => {
  for (const cookie of document.cookie.split('; '))
    if (cookie.startsWith('_csrf=')) return decodeURIComponent(cookie.slice(6))
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

/** Calls the API of this service. A change carries the token of the readable cookie. */
export const ask = async (method, path, body) => {
  const headers = { Accept: 'application/json' }
  const token = csrfToken()
  if (method !== 'GET' && token !== undefined) headers['X-Csrf-Token'] = token
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  try {
    const reply = await fetch(root + 'api/v1' + path, {
      method,
      headers,
      cache: 'no-store',
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const json = parsed(await reply.text())
    return { status: reply.status, json, message: messageOf(reply.status, json) }
  } catch {
    return { status: 0, json: {}, message: 'The service could not be reached. Try again.' }
  }
}

/** Returns the code of the link, and removes it from the address bar and the history. */
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

/** Adds a button to each block of text that is to be pasted elsewhere. Browsers allow it on https and on localhost. */
export const addCopyButtons = () => {
  if (navigator.clipboard === undefined) return
  for (const block of document.querySelectorAll('pre')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'quiet'
    button.textContent = 'Copy'
    button.setAttribute('aria-label', 'Copy: ' + block.getAttribute('aria-label'))
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(block.textContent)
      button.textContent = 'Copied'
      setTimeout(() => (button.textContent = 'Copy'), 2_000)
    })
    block.after(button)
  }
}

/** Shows one part of the page, hides the others, and focuses its first empty field. */
export const showOnly = (id, ...others) => {
  for (const other of others) byId(other).hidden = true
  const part = byId(id)
  part.hidden = false
  const goals = [...part.querySelectorAll('input:not([type=checkbox]), h2')].filter(
    (goal) => goal.closest('[hidden]') === null,
  )
  const first = goals.find((goal) => goal.value === undefined || goal.value === '')
  first?.focus()
}

/** Runs `act` when the form is submitted, once at a time. The browser itself submits nothing. */
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
