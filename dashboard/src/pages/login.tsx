import { useState } from 'preact/hooks'

/** A server that others can reach asks for its token; the page then stands behind it, like the base URL of an agent. */
export function Login() {
  const [token, setToken] = useState('')
  return (
    <main id="content" class="login">
      <h1>Plimsoll</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          location.replace(`/t/${encodeURIComponent(token)}/${location.hash}`)
        }}
      >
        <label>
          Token of this proxy (PLIMSOLL_TOKEN)
          <input
            type="password"
            autocomplete="current-password"
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <button disabled={token === ''}>Open</button>
      </form>
    </main>
  )
}
