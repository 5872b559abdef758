module kperf.example/life

go 1.21
