import { signal } from '@preact/signals-core'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { fill, texts } from '../texts.js'
import { asApiError, isOffline } from './client.js'
import { html } from './html.js'
import { Icon } from './icons.js'

/**
 * @template T
 * @typedef {{ value: T | undefined, error: import('./client.js').ApiError | undefined, isLoading: boolean, reload: () => void }} Resource
 */

/** Counts changes that were made, so that what is shown is read again. */
const changes = signal(0)

/** Reads everything that is shown again. Called after a change. */
export const reloadAll = () => void changes.value++

/**
 * Reads something when `key` changes, and after changes. The last value stays while it is read again.
 *
 * @template T
 * @param {string} key
 * @param {(signal: AbortSignal) => Promise<T>} read
 * @returns {Resource<T>}
 */
export const useResource = (key, read) => {
  const [state, setState] = useState(
    /** @type {{ key: string, value: T | undefined, error: import('./client.js').ApiError | undefined, isLoading: boolean }} */ ({
      key,
      value: undefined,
      error: undefined,
      isLoading: true,
    }),
  )
  const [round, setRound] = useState(0)
  const reader = useRef(read)
  reader.current = read
  useEffect(() => {
    const controller = new AbortController()
    setState((was) => ({ key, value: was.key === key ? was.value : undefined, error: undefined, isLoading: true }))
    reader.current(controller.signal).then(
      (value) => controller.signal.aborted || setState({ key, value, error: undefined, isLoading: false }),
      (error) =>
        controller.signal.aborted ||
        setState((was) => ({ key, value: was.value, error: asApiError(error), isLoading: false })),
    )
    return () => controller.abort()
  }, [key, round])
  const reload = useCallback(() => setRound((last) => last + 1), [])
  useEffect(() => {
    let isFirst = true
    return changes.subscribe(() => {
      if (!isFirst) reload()
      isFirst = false
    })
  }, [reload])
  useEffect(() => {
    const onLine = () => isOffline.peek() && reload()
    addEventListener('online', onLine)
    return () => removeEventListener('online', onLine)
  }, [reload])
  return { ...state, reload }
}

/**
 * Why something cannot be shown, with what to do.
 *
 * @param {{ error: import('./client.js').ApiError, retry?: () => void }} props
 */
export const Problem = ({ error, retry }) => {
  const isForbidden = error.status === 403
  return html`
    <div class=${isForbidden ? 'panel note' : 'panel problem'} role=${isForbidden ? undefined : 'alert'}>
      <${Icon} name=${isForbidden ? 'info' : 'warning'} />
      <div>
        <p class="strong">
          ${isForbidden ? texts.problem.forbidden : error.status === 404 ? texts.problem.missing : texts.problem.failed}
        </p>
        <p>${error.message}</p>
        ${
          error.errors.length > 0 &&
          html`<ul>
            ${error.errors.map((each) => html`<li>${each}</li>`)}
          </ul>`
        }
        ${error.requestId !== '' && !isForbidden && html`<p class="faint">${fill(texts.problem.request, { id: error.requestId })}</p>`}
        ${retry && !isForbidden && html`<button type="button" onClick=${retry}>${texts.common.retry}</button>`}
      </div>
    </div>
  `
}

/**
 * Draws a value once it is read; before, a placeholder of some lines.
 *
 * @template T
 * @param {Resource<T>} resource
 * @param {(value: T) => unknown} draw
 * @param {number} [lines]
 */
export const loaded = ({ value, error, isLoading, reload }, draw, lines = 4) => {
  if (error !== undefined && (value === undefined || error.status === 403 || error.status === 404))
    return html`<${Problem} error=${error} retry=${reload} />`
  if (value === undefined) return html`<${Placeholder} lines=${lines} />`
  return html`
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    <div class="stack" aria-busy=${isLoading}>${draw(value)}</div>
  `
}

/** @param {{ lines: number }} props */
export const Placeholder = ({ lines }) => html`
  <div class="placeholder" role="status">
    <span class="unseen">${texts.common.loading}</span>
    ${Array.from({ length: lines }, (_, at) => html`<div key=${at} class="line" />`)}
  </div>
`
