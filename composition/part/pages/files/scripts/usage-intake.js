import { ask, byId, onSubmit, tell } from './kit.js'
import { signIn, signOut } from './sign-in-form.js'

const counts = ['received', 'accepted', 'repeated', 'refused', 'late']

const row = (cells, numbersFrom = cells.length) => {
  const made = document.createElement('tr')
  for (const [index, text] of cells.entries()) {
    const cell = document.createElement('td')
    cell.textContent = typeof text === 'number' ? text.toLocaleString() : text
    if (index >= numbersFrom) cell.className = 'number'
    made.append(cell)
  }
  return made
}

const fill = (id, rows, none) => {
  byId(id).replaceChildren(...(rows.length === 0 ? [row([none])] : rows))
  if (rows.length === 0) byId(id).querySelector('td').colSpan = 7
}

/** Returns the items of an answer; undefined after it has said why there are none. */
const itemsOf = async (path) => {
  const { status, json, message } = await ask('GET', '/dashboard/summary/' + path)
  if (status === 200) return json.items
  tell(message, true)
  return undefined
}

const showSums = (items) => {
  fill(
    'sums',
    items.map((item) => row([item.day, item.clusterUID, ...counts.map((count) => item[count])], 2)),
    'No events arrived.',
  )
  const total = counts.map((count) => items.reduce((sum, item) => sum + item[count], 0))
  byId('total').replaceChildren(row(['Total', '', ...total], 2))
}

const showRefused = (items) => {
  const rows = items.map((item) =>
    row([
      item.receivedAt.slice(0, 19).replace('T', ' '),
      item.clusterUID,
      item.id,
      item.type,
      item.reason,
      item.message,
    ]),
  )
  fill('refused', rows, 'No events were refused.')
}

onSubmit('intake-form', async () => {
  byId('results').hidden = true
  const query = new URLSearchParams({ org: byId('account-name').value.trim() })
  const account = query.toString()
  const [from, to] = [byId('first-day').value.trim(), byId('last-day').value.trim()]
  if (from !== '') query.set('from', from)
  if (to !== '') query.set('to', to)
  const sums = await itemsOf('intake?' + query)
  if (sums === undefined) return
  const refused = await itemsOf('refused-events?' + account)
  if (refused === undefined) return
  showSums(sums)
  showRefused(refused)
  byId('results').hidden = false
})

byId('leave').addEventListener('click', async () => {
  byId('parts').hidden = true
  byId('results').hidden = true
  await signOut()
})

await signIn(async () => {
  byId('parts').hidden = false
})
