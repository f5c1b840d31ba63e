import { byId, showOnly } from './kit.js'
import { returnToConsole, signIn, signOut } from './sign-in-form.js'

byId('sign-out').addEventListener('click', async () => {
  byId('account').hidden = true
  await signOut()
})

await signIn((login) => {
  if (returnToConsole()) return
  byId('login').textContent = login
  showOnly('account')
})
