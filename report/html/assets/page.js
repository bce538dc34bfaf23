document.querySelectorAll(".whatif").forEach(whatIf);
document.querySelectorAll(".flame").forEach(flame);
unpack().then(charts);
