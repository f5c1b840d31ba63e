import { signal } from '@preact/signals-core'

/** The root of the console, also below the path of a reverse proxy. Scripts are in the folder `files` of it. */
export const root = new URL('../', import.meta.url)

/** The root of the API. */
export const api = new URL('../api/v1', root).href

const read = () => ({
  path: `/${decodeURI(location.pathname.slice(root.pathname.length))}`,
  query: new URLSearchParams(location.search),
})

/** The view that is shown: its path below the root of the console, and its query. */
export const address = signal(read())

/**
 * Returns the address of a view, for a link. Empty values are left out of the query.
 *
 * @param {string} path
 * @param {Record<string, string | number | undefined>} [query]
 */
export const href = (path, query = {}) => {
  const words = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') words.set(name, `${value}`)
  const text = words.toString()
  return `${root.pathname}${path.replace(/^\//, '')}${text === '' ? '' : `?${text}`}`
}

/** Returns the path of an owner's view, with each word encoded. @param {...string} words */
export const pathOf = (...words) => `/${words.map(encodeURIComponent).join('/')}`

/** Whether leaving the view loses what was typed. @type {Set<() => boolean>} */
const guards = new Set()

/** Asks before the view is left, as long as `isDirty` returns true. @param {() => boolean} isDirty */
export const guardLeaving = (isDirty) => {
  guards.add(isDirty)
  return () => void guards.delete(isDirty)
}

const isHeld = () => [...guards].some((isDirty) => isDirty())

/** Asks whether what was typed may be lost, if something was. */
export const mayLeave = () => !isHeld() || confirm(leaveQuestion.text)

addEventListener('beforeunload', (event) => {
  if (isHeld()) event.preventDefault()
})

/**
 * Shows another view.
 *
 * @param {string} target as `href` returns it
 * @param {{ replace?: boolean, keepScroll?: boolean }} [options]
 */
export const navigate = (target, { replace = false, keepScroll = false } = {}) => {
  history[replace ? 'replaceState' : 'pushState'](null, '', target)
  address.value = read()
  if (!keepScroll) scrollTo(0, 0)
}

/**
 * Changes the query of the view: the state of its list. Empty values are removed.
 *
 * @param {Record<string, string | undefined>} changes
 */
export const changeQuery = (changes) => {
  const query = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(changes))
    if (value === undefined || value === '') query.delete(name)
    else query.set(name, value)
  const text = query.toString()
  navigate(location.pathname + (text === '' ? '' : `?${text}`), { replace: true, keepScroll: true })
}

addEventListener('popstate', () => {
  address.value = read()
})

/** Follows links to views without loading the page again. Other clicks are left to the browser. */
addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button !== 0) return
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  const link = event.target instanceof Element ? event.target.closest('a[href]') : null
  if (!(link instanceof HTMLAnchorElement) || link.target !== '' || link.hasAttribute('download')) return
  if (!link.href.startsWith(root.href) || link.getAttribute('href')?.startsWith('#')) return
  event.preventDefault()
  if (!mayLeave()) return
  navigate(link.href)
})

/** The question of the guard, which the texts of the console set. */
export const leaveQuestion = { text: '' }

/**
 * Returns the values of a path by a pattern such as `/o/:owner/clusters`, or undefined if it does not match.
 *
 * @param {string} pattern
 * @param {string} path
 * @returns {Record<string, string> | undefined}
 */
export const matchPath = (pattern, path) => {
  const expected = pattern.split('/').filter(Boolean)
  const found = path.split('/').filter(Boolean)
  if (expected.length !== found.length) return undefined
  /** @type {Record<string, string>} */
  const values = {}
  for (const [at, word] of expected.entries()) {
    const value = found[at] ?? ''
    if (word.startsWith(':')) {
      try {
        values[word.slice(1)] = decodeURIComponent(value)
      } catch {
        return undefined
      }
    } else if (word !== value) return undefined
  }
  return values
}
