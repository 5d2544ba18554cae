// The token stays out of the browser's address bar and history: from here on the cookie opens the page.
const address = new URL(window.location);
address.searchParams.delete("token");
window.history.replaceState(null, "", address);
