import { get } from './client.js'

/** A task is among the newest ones of its account when it was started a moment ago. */
const newest = 20

/**
 * Returns the id of the task that a request started under `responseId`; undefined if nothing was left to do.
 *
 * @param {string} account the name of the account in which the task runs
 * @param {string} responseId
 */
export const startedTask = async (account, responseId) => {
  const { data } = await get('/tasks', { query: { account, limit: newest } })
  return data.find((task) => task.response_id === responseId)?.id
}
