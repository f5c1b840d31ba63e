import { ask, byId, onSubmit, showOnly, takeCode, tell } from './kit.js'

const code = takeCode()
byId('code').value = code
byId('code-row').hidden = code !== ''

// Only the button confirms, not the opening of the page: programs that read mail follow every link.
onSubmit('confirm-form', async () => {
  const answer = await ask('POST', '/user/activate', { code: byId('code').value.trim() })
  if (answer.status !== 200) return tell(answer.message, true)
  showOnly('done', 'confirm-form')
  tell('The address is confirmed.')
})
