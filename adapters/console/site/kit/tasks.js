import { useEffect, useState } from 'preact/hooks'
import { fill, texts } from '../texts.js'
import { api } from './address.js'
import { call, get } from './client.js'
import { Time } from './format.js'
import { html } from './html.js'
import { Icon } from './icons.js'
import { notifyFailure } from './notices.js'
import { Problem, useResource } from './resource.js'

/**
 * @import { Schemas } from 'api-shapes'
 */

/** How many lines of a task are drawn; the newest ones. */
const mostLines = 200

/** @param {Schemas['Task'] | undefined} task */
const isUnfinished = (task) => task?.state === 'queued' || task?.state === 'running'

/** A word for the state of a task, with its colour. @param {{ state: Schemas['Task']['state'] }} props */
export const TaskState = ({ state }) => {
  const kinds = {
    queued: 'idle',
    running: 'busy',
    succeeded: 'good',
    failed: 'bad',
    cancelled: 'idle',
    unknown: 'warn',
  }
  return html`<span class="badge ${kinds[state]}">${texts.tasks.states[state]}</span>`
}

/**
 * @typedef {{ id: string, title: string, status: string }} Step
 * @typedef {{ seq: number, at: string, text: string, level: string }} Line
 */

/** @param {Step[]} steps @param {Schemas['TaskEvent']} event @returns {Step[]} */
const withEvent = (steps, { id, status, step, error }) => {
  const at = steps.findIndex((each) => each.id === id)
  const known = steps[at]
  const next = { id, title: step ?? known?.title ?? '', status: error === undefined ? status : 'Failed' }
  if (known === undefined) return next.title === '' ? steps : [...steps, next]
  return steps.map((each, index) => (index === at ? next : each))
}

/**
 * Follows a task by its event stream, which starts with what has happened already. The browser resumes a cut stream.
 *
 * @param {string} id
 */
const useTaskEvents = (id) => {
  const [steps, setSteps] = useState(/** @type {Step[]} */ ([]))
  const [lines, setLines] = useState(/** @type {Line[]} */ ([]))
  const [isOver, setOver] = useState(false)
  useEffect(() => {
    setSteps([])
    setLines([])
    setOver(false)
    const source = new EventSource(`${api}/tasks/${encodeURIComponent(id)}/events`)
    source.addEventListener('message', ({ data }) => {
      /** @type {Schemas['TaskEvent']} */
      const event = JSON.parse(data)
      setSteps((was) => withEvent(was, event))
      const text = event.error ?? event.msg
      if (text !== '')
        setLines((was) => [
          ...was.slice(1 - mostLines),
          { seq: event.seq, at: event.at, text, level: event.error === undefined ? (event.level ?? '') : 'error' },
        ])
      if (event.id === id && (event.status === 'Success' || event.status === 'Failed')) {
        source.close()
        setOver(true)
      }
    })
    return () => source.close()
  }, [id])
  return { steps, lines, isOver }
}

const marks = { Success: 'check', Failed: 'close', Started: 'next', Running: 'next', Pending: 'next' }

/**
 * The live progress of a task. The id is in the address of the view, so that it survives a reload.
 *
 * @param {{ id: string, onEnd?: (task: Schemas['Task']) => void }} props
 */
export const TaskProgress = ({ id, onEnd }) => {
  const { steps, lines, isOver } = useTaskEvents(id)
  const {
    value: task,
    error,
    reload,
  } = useResource(`task ${id} ${isOver}`, async (signal) => (await get('/tasks/{id}', { path: { id }, signal })).data)
  const [isCancelling, setCancelling] = useState(false)
  useEffect(() => {
    if (isOver && task !== undefined && !isUnfinished(task)) onEnd?.(task)
  }, [isOver, task?.state])
  const cancel = async () => {
    setCancelling(true)
    try {
      await call('post', '/tasks/{id}/cancel', { path: { id } })
      reload()
    } catch (cause) {
      notifyFailure(cause)
      setCancelling(false)
    }
  }
  if (task === undefined) return error === undefined ? null : html`<${Problem} error=${error} retry=${reload} />`
  const isAsked = task.is_cancel_requested || isCancelling
  return html`
    <section class="card task" aria-label=${fill(texts.tasks.progressOf, { title: task.title })}>
      <header class="card-head">
        <h2>${task.title}</h2>
        <${TaskState} state=${task.state} />
        ${
          isUnfinished(task) &&
          html`<button type="button" aria-disabled=${isAsked} onClick=${cancel}>
            ${isAsked ? texts.tasks.cancelling : texts.tasks.cancel}
          </button>`
        }
      </header>
      <p class="faint">
        ${fill(texts.tasks.startedBy, { actor: task.actor })} <${Time} value=${task.created_at} as="ago" />
      </p>
      <ol class="steps">
        ${steps
          .filter((step) => step.id !== id)
          .map(
            ({ id: each, title, status }) =>
              html`<li key=${each} class=${status.toLowerCase()}>
                <${Icon} name=${marks[/** @type {keyof typeof marks} */ (status)] ?? 'next'} />${title}
                <span class="faint"
                  >${texts.tasks.steps[/** @type {keyof typeof texts.tasks.steps} */ (status)] ?? status}</span
                >
              </li>`,
          )}
      </ol>
      ${
        task.error &&
        html`<div class="panel problem" role="alert">
          <${Icon} name="warning" />
          <p>${task.error}</p>
        </div>`
      }
      ${
        lines.length > 0 &&
        html`<details open=${isUnfinished(task)}>
          <summary>${texts.tasks.log}</summary>
          <div class="log" role="log" aria-label=${texts.tasks.log} tabindex="0">
            ${lines.map(({ seq, at, text, level }) => html`<div key=${seq} class=${level}><${Time} value=${at} /> ${text}</div>`)}
          </div>
        </details>`
      }
      <p class="unseen" role="status" aria-live="polite">${texts.tasks.states[task.state]}</p>
    </section>
  `
}
