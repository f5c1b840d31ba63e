// Draws an operation when it is opened, and sends its request. Everything works without this script but "Send".
import { byId, csrfToken } from './kit.js'

const root = '/api/v1'

/** Returns the value of the token field. It is kept nowhere else. */
const accessToken = () => byId('token')?.value.trim() ?? ''

const element = (name, text, attributes = {}) => {
  const made = document.createElement(name)
  made.textContent = text
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  return made
}

const shown = (text) => {
  const pre = element('pre', '', { tabindex: '0', role: 'region', 'aria-label': 'Response' })
  pre.append(element('code', text))
  return pre
}

/** Returns JSON with line breaks and its own digits, since JSON.parse would round numbers beyond 2^53. */
const indented = (text) => {
  let margin = ''
  let out = ''
  for (const [part] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g)) {
    if (part === '{' || part === '[') {
      margin += '  '
      out += part + '\n' + margin
    } else if (part === '}' || part === ']') {
      margin = margin.slice(2)
      out =
        (out.endsWith('  ' + margin) ? out.trimEnd() : out) + (/[{[]$/.test(out.trimEnd()) ? '' : '\n' + margin) + part
    } else out += part === ',' ? ',\n' + margin : part === ':' ? ': ' : part
  }
  return out
}

const quoted = (text) => "'" + text.replaceAll("'", "'\\''") + "'"

/** Returns the request of a form: empty fields are left out. */
const requestOf = (article) => {
  const query = new URLSearchParams()
  const headers = { Accept: 'application/json, */*;q=0.5' }
  let path = article.dataset.path
  for (const field of article.querySelectorAll('[data-parameter]')) {
    const { parameter, place, rest } = field.dataset
    const value = field.value
    if (place === 'path')
      path = path.replace('{' + parameter + '}', () =>
        rest === undefined ? encodeURIComponent(value) : value.split('/').map(encodeURIComponent).join('/'),
      )
    else if (value !== '' && place === 'query') query.append(parameter, value)
    else if (value !== '') headers[parameter] = value
  }
  const text = query.toString()
  const body = article.querySelector('[data-body]')?.value ?? ''
  if (body !== '') headers['Content-Type'] = 'application/json'
  return {
    method: article.dataset.method,
    url: root + path + (text === '' ? '' : '?' + text),
    headers,
    body: body === '' ? undefined : body,
  }
}

const curlOf = ({ method, url, headers, body }) =>
  [
    'curl -X ' + method + ' ' + quoted(location.origin + url),
    ...Object.entries(headers).map(([name, value]) => '  -H ' + quoted(name + ': ' + value)),
    "  -H 'Authorization: token YOUR_TOKEN'",
    ...(body === undefined ? [] : ['  -d ' + quoted(body)]),
  ].join(' \\\n')

const bodyOf = async (reply) => {
  const type = reply.headers.get('Content-Type') ?? ''
  if (/json/.test(type)) return [shown(indented(await reply.text()))]
  if (/^text\/|yaml|xml/.test(type) || type === '') {
    const text = await reply.text()
    return text === '' ? [] : [shown(text)]
  }
  const bytes = await reply.blob()
  const link = element('a', 'Save ' + bytes.size + ' bytes of ' + type, {
    href: URL.createObjectURL(bytes),
    download: '',
  })
  return [link]
}

const send = async (article, result) => {
  const request = requestOf(article)
  const token = accessToken()
  const csrf = csrfToken()
  const own =
    token !== ''
      ? { Authorization: 'token ' + token }
      : request.method !== 'GET' && csrf !== undefined
        ? { 'X-Csrf-Token': csrf }
        : {}
  result.replaceChildren(element('p', 'Sending…'))
  try {
    const reply = await fetch(request.url, {
      method: request.method,
      headers: { ...request.headers, ...own },
      body: request.body,
      cache: 'no-store',
      credentials: token === '' ? 'same-origin' : 'omit',
    })
    const headers = [...reply.headers].map(([name, value]) => name + ': ' + value).join('\n')
    const more = element('details', '')
    more.append(element('summary', 'Headers and the same with curl'), shown(headers), shown(curlOf(request)))
    result.replaceChildren(element('p', 'Status ' + reply.status), ...(await bodyOf(reply)), more)
  } catch {
    result.replaceChildren(element('p', 'The service could not be reached, or these values make no valid request.'))
  }
}

const enable = (article) => {
  const form = article.querySelector('form')
  const result = article.querySelector('.result')
  if (result === null) return
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const button = form.querySelector('button')
    if (button.disabled) return
    button.disabled = true
    await send(article, result)
    button.disabled = false
  })
}

const draw = async (details) => {
  const place = details.querySelector('.opening')
  if (place === null) return
  try {
    const reply = await fetch(root + '/docs/operations/' + encodeURIComponent(details.dataset.operation), {
      credentials: 'omit',
    })
    if (!reply.ok) throw new Error(String(reply.status))
    const article = new DOMParser().parseFromString(await reply.text(), 'text/html').querySelector('article')
    if (!place.isConnected) return
    place.replaceWith(document.adoptNode(article))
    enable(article)
  } catch {
    place.textContent = 'The operation could not be loaded. Close and open it to try again.'
  }
}

const operations = [...document.querySelectorAll('details[data-operation]')]
for (const details of operations) details.addEventListener('toggle', () => details.open && void draw(details))

/** Opens the operation or the group that the address names: `#operation/ID`. */
const openNamed = () => {
  const id = /^#operation\/(.+)$/.exec(location.hash)?.[1]
  const named =
    id === undefined ? undefined : operations.find(({ dataset }) => encodeURIComponent(dataset.operation) === id)
  if (named === undefined) return
  named.open = true
  named.scrollIntoView()
  named.querySelector('summary').focus({ preventScroll: true })
}
addEventListener('hashchange', openNamed)

const find = byId('find')
find?.addEventListener('input', () => {
  const words = find.value
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  let count = 0
  for (const details of operations) {
    const text =
      details.dataset.operation.toLowerCase() + ' ' + details.querySelector('summary').textContent.toLowerCase()
    details.hidden = !words.every((word) => text.includes(word))
    if (!details.hidden) count++
  }
  for (const section of document.querySelectorAll('main > section'))
    section.hidden = section.querySelector('details[data-operation]:not([hidden])') === null
  byId('found').textContent = words.length === 0 ? '' : count + (count === 1 ? ' operation' : ' operations')
})

const showCaller = async () => {
  // Without the cookie of a session no user is signed in.
  const reply =
    csrfToken() === undefined ? undefined : await fetch(root + '/user', { cache: 'no-store' }).catch(() => undefined)
  const login = reply?.ok === true ? (await reply.json()).login : undefined
  byId('caller').replaceChildren(
    login === undefined
      ? element('a', 'Sign in', { href: '/sign-in' })
      : element('span', 'Signed in as ' + login + '.'),
  )
}

byId('controls').hidden = false
for (const article of document.querySelectorAll('article[data-shown]')) enable(article)
openNamed()
void showCaller()
